// The engine stands in the Python package, where `linkwork export` finds it without building anything.
export { Engine } from "../../src/linkwork/web/engine/engine.js";
export type { Failure, Live as LiveData, Motion, Parameter } from "../../src/linkwork/web/engine/engine.js";
export { Play } from "../../src/linkwork/web/engine/play.js";
