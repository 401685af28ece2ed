import { describe, expect, it } from "vitest";
import { Completion, placeAt } from "../../src/studio/complete";
import { addEntry, applied, setNumber } from "../../src/studio/edits";
import { factorOf, quantity, rewritten } from "../../src/numbers";
import { Outline, type Path, steps } from "../../src/studio/tree";
import { placeOf, written } from "../../src/studio/values";

const UNITS = { mm: [1e-3, 0, 1, 0, 0, 0], m: [1, 0, 1, 0, 0, 0], deg: [Math.PI / 180, 0, 0, 0, 0, 1], rpm: [Math.PI / 30, 0, 0, -1, 0, 1] };
const TEXT = `linkwork: 1
parameters: {l: 120 mm, d: 2.2}   # the ground
ground: {points: {O: [0, 0], C: [d, 0]}}
bodies:
  crank: {mass: 1, angle: 30 deg,   # the first
          points: {O: [0, 0], A: [ 0.5 , "40 mm" ]}}
  rod:
    mass: 2
    points:
      A: [0.5, 40 mm]
joints:
  A: {type: revolute, i: crank.A, j: rod.A}
# the end
`;
const outline = new Outline(TEXT);
const at = (path: Path) => outline.textAt(path);

describe("where values stand", () => {
  it("finds scalars in blocks, in braces, in lists and in quotes", () => {
    expect(at(["parameters", "d"])).toBe("2.2");
    expect(at(["bodies", "crank", "points", "A", 1])).toBe("40 mm");
    expect(at(["bodies", "rod", "points", "A", 0])).toBe("0.5");
    expect(at(["bodies", "rod"])).toBeUndefined();
    expect(at(["bodies", "none", 3])).toBeUndefined();
    expect(outline.keys(["bodies"])).toEqual(["crank", "rod"]);
  });

  it("reads paths as messages have them", () => {
    expect(steps("bodies.crank.points.A[0]")).toEqual(["bodies", "crank", "points", "A", 0]);
    expect(steps("gravity[1]")).toEqual(["gravity", 1]);
  });

  it("knows what the names of the engine stand for", () => {
    expect(placeOf(outline, "d")).toEqual(["parameters", "d"]);
    expect(placeOf(outline, "ground.points.C.1")).toEqual(["ground", "points", "C", 1]);
    expect(placeOf(outline, "A.s_j.1")).toEqual(["bodies", "rod", "points", "A", 1]);
    expect(placeOf(outline, "crank.angle")).toEqual(["bodies", "crank", "angle"]);
    expect(placeOf(outline, "nobody.x")).toBeUndefined();
  });
});

describe("numbers", () => {
  it("keep their units, and have no more digits than the step", () => {
    expect(rewritten("120 mm", 0.1234567, 1e-4, UNITS)).toBe("123.5 mm");
    expect(rewritten("2.2", 1.23456, 1e-3, UNITS)).toBe("1.235");
    expect(rewritten("30 deg", Math.PI / 6 + 1e-9, 1e-3, UNITS)).toBe("30 deg");
    expect(rewritten("1", -1e-9, 1e-3, UNITS)).toBe("0");
    expect(rewritten("3 furlong", 5, 1e-3, UNITS)).toBe("3 furlong");
  });

  it("are read in units as model files have them", () => {
    const [length, mass, time, force] = [[0, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 1, 0, 0], [1, 1, -2, 0, 0]];
    const known = { m: [1, ...length], mm: [1e-3, ...length], s: [1, ...time], min: [60, ...time], N: [1, ...force], kN: [1e3, ...force], kg: [1, ...mass], g: [1e-3, ...mass] };
    for (const [unit, factor] of Object.entries({ "kN/mm": 1e6, "N*s/m": 1, "g*mm^2": 1e-9, "m/min^2": 1 / 3600, "N/(m*s)": 1, "kg*mm^-1": 1e3, "mm**1.5": 1e-3 ** 1.5 })) {
      expect(factorOf(unit, known)).toBeCloseTo(factor, 12 - Math.log10(factor));
    }
    for (const unit of ["furlong", "N*", "(N", "N)", "N m", "constructor", "N^x"]) expect(factorOf(unit, known)).toBeUndefined();
    expect(rewritten("2 kN/m", 2500, 1, known)).toBe("2.5 kN/m");
  });

  it("are told from formulas", () => {
    expect(quantity("-1.5e3 mm")).toEqual({ number: -1500, unit: "mm" });
    expect(quantity("2 kN/m")).toEqual({ number: 2, unit: "kN/m" });
    for (const text of ["d", "a/2", "2*a", "1 + 2", "", "2 3"]) expect(quantity(text)).toBeUndefined();
  });
});

describe("changes of a text", () => {
  it("touch the number and nothing else", () => {
    const text = applied(TEXT, setNumber(outline, ["bodies", "crank", "points", "A", 1], 0.05, 1e-4, UNITS));
    expect(text).toBe(TEXT.replace('"40 mm"', '"50 mm"'));
    expect(setNumber(outline, ["parameters", "d"], 2.2, 1e-4, UNITS)).toEqual([]);
  });

  it("write one number for all the names that the engine has for it", () => {
    const values = new Map([["A.s_i.0", 0.6], ["crank.points.A.0", 0.6], ["A.s_j.0", 0.7], ["crank.x", 3]]);
    expect(applied(TEXT, written(outline, values, "", 1e-3, UNITS))).toBe(
      TEXT.replace("[ 0.5 ,", "[ 0.6 ,").replace("[0.5, 40 mm]", "[0.7, 40 mm]"),
    );
  });

  it("say where a motion starts by the body that was moved", () => {
    const values = new Map([["crank.x", 3], ["crank.phi", Math.PI / 4], ["rod.phi", 1]]);
    expect(applied(TEXT, written(outline, values, "crank", 1e-3, UNITS))).toContain("\nsimulation: {start: {crank.phi: 45 deg}}\n");
  });

  const added = (text: string, path: Path, key: string, value: string) => applied(text, addEntry(new Outline(text), path, key, value));

  it("add entries behind their like, as deep as these", () => {
    expect(added(TEXT, ["joints"], "B", "{type: rigid}")).toBe(TEXT.replace("rod.A}\n", "rod.A}\n  B: {type: rigid}\n"));
    expect(added(TEXT, ["bodies", "crank", "points"], "P", "[1, 2]")).toBe(TEXT.replace('"40 mm" ]}}', '"40 mm" ], P: [1, 2]}}'));
    expect(added(TEXT, ["bodies", "rod", "points"], "P", "[1, 2]")).toBe(TEXT.replace("[0.5, 40 mm]\n", "[0.5, 40 mm]\n      P: [1, 2]\n"));
    expect(added(TEXT, ["ground", "points"], "D", "[1, 2]")).toBe(TEXT.replace("C: [d, 0]}}", "C: [d, 0], D: [1, 2]}}"));
  });

  it("make a section where readers look for it", () => {
    expect(added("linkwork: 1\n", ["ground", "points"], "O", "[0, 0]")).toBe("linkwork: 1\nground: {points: {O: [0, 0]}}\n");
    expect(added("linkwork: 1", ["bodies"], "a", "{mass: 1}")).toBe("linkwork: 1\nbodies:\n  a: {mass: 1}\n");
    expect(added("linkwork: 1\nsimulation: {t_end: 1}\n", ["joints"], "O", "{}")).toBe(
      "linkwork: 1\njoints:\n  O: {}\nsimulation: {t_end: 1}\n",
    );
    expect(added("linkwork: 1\njoints:\nforces: {}\n", ["joints"], "O", "{}")).toBe("linkwork: 1\njoints:\n  O: {}\nforces: {}\n");
    expect(added("forces: {}\n", ["forces"], "f", "{a: 1}")).toBe("forces: {f: {a: 1}}\n");
  });
});

describe("completion", () => {
  const schema = {
    $defs: {
      PlanarModel: {
        properties: {
          bodies: { additionalProperties: { $ref: "#/$defs/body" } },
          joints: {
            additionalProperties: {
              discriminator: { propertyName: "type", mapping: { revolute: "#/$defs/revolute", gear: "#/$defs/gear" } },
              oneOf: [{ $ref: "#/$defs/revolute" }, { $ref: "#/$defs/gear" }],
            },
          },
        },
      },
      body: { properties: { mass: { description: "mass in kg" }, points: {} } },
      revolute: { properties: { type: { const: "revolute" }, i: {}, j: {} } },
      gear: { properties: { type: { const: "gear" }, radius_i: {} } },
    },
  };
  const completion = new Completion(schema);
  const words = (text: string) => {
    const [before, after] = text.split("|");
    return completion.words(before + after, placeAt(before + after, before.length)).map(({ label }) => label);
  };

  it("offers sections, keys that are not there yet, and types", () => {
    expect(words("linkwork: 1\n|")).toEqual(["bodies", "joints"]);
    expect(words("bodies:\n  a: {mass: 1, |}\n")).toEqual(["points"]);
    expect(words("bodies:\n  a:\n    mass: 1\n    |\n")).toEqual(["points"]);
    expect(words("joints:\n  O: {type: |}\n")).toEqual(["revolute", "gear"]);
    expect(words("joints:\n  O: {type: gear, |}\n")).toEqual(["radius_i"]);
  });

  it("offers points, bodies and joints by the names in the text", () => {
    const text = TEXT.replace("i: crank.A", "i: |");
    expect(words(text)).toEqual(["ground.O", "ground.C", "crank.O", "crank.A", "rod.A", "crank", "rod"]);
  });
});
