"""What inputs, outputs and states must satisfy, whether they come from a file or from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from linkwork.elements.bodies import measures_of
from linkwork.elements.events import result_names
from linkwork.elements.rolling import VelocityConstraint
from linkwork.elements.signals import OUTPUT, find_loop, formulas_of, resolve
from linkwork.errors import ModelError, did_you_mean
from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import Expr, as_expr, symbol
from linkwork.model import Model
from linkwork.soundness.numbers import formulas_in

LOOSEN = "put a state of first order between them, or sample the input: every: 1 ms"


def signal_faults(model: Model, value: Callable[[Expr | float], float]) -> Iterator[ModelError]:
    """Find what is wrong with inputs, outputs and states; `value` evaluates a formula of parameters."""
    if not model.signals:
        return
    results = {*result_names(model.bodies, model.joints, model.drivers, model.acting)}
    moving = {str(known.value) for body in model.bodies for known, _ in measures_of(body)}
    names = {"t", *model.parameters, *moving, *results, *(x.name for x in model.inputs)}
    names |= {*(x.name for x in model.states), *(f"{OUTPUT}{x.name}" for x in model.outputs)}
    formulas = [(f"inputs.{x.name}.value", x.formula) for x in model.inputs if x.formula is not None]
    formulas += [(f"outputs.{x.name}.formula", x.formula) for x in model.outputs]
    formulas += [(f"states.{x.name}.rate", x.rate) for x in model.states]
    for path, formula in formulas:
        for node in ordered([as_expr(formula)]):
            if node.op == "symbol" and node.value not in names:
                hint = did_you_mean(str(node.value), names)
                yield ModelError(f"unknown name '{node.value}'", "expression-name", path=path, suggestion=hint)
    for x in model.inputs:
        if x.name not in model.parameters:
            yield ModelError(f"input '{x.name}' has no value among the parameters", "no-value", path=f"inputs.{x.name}")
        if x.every is not None:
            if x.formula is None:
                message = "there is no formula to be sampled"
                yield ModelError(message, "no-effect", path=f"inputs.{x.name}.every", suggestion="leave it out")
            if not (every := value(x.every)) > 0.0:
                path = f"inputs.{x.name}.every"
                yield ModelError(f"{every:g} s is not a time between samples", "bad-value", path=path, value=every)
    for state in model.states:
        if not (scale := value(state.scale)) > 0.0:
            path = f"states.{state.name}.scale"
            yield ModelError(f"scale {scale:g} is not positive", "bad-value", path=path, value=scale)
    yield from loop_faults(model, results)


def loop_faults(model: Model, results: set[str]) -> Iterator[ModelError]:
    """Return formulas that need themselves: by each other, or by accelerations and reactions, which need forces."""
    stated = formulas_of(model.inputs, model.outputs)
    if loop := find_loop(stated):
        kind, name = ("outputs", loop[0][len(OUTPUT) :]) if loop[0].startswith(OUTPUT) else ("inputs", loop[0])
        path = f"{kind}.{name}.{'formula' if kind == 'outputs' else 'value'}"
        message = f"algebraic loop: {' -> '.join(loop)}"
        yield ModelError(message, "algebraic-loop", path=path, rule="none may need itself", suggestion=LOOSEN)
        return
    whole = resolve(stated, {})
    for path, formula in formulas_in(model, ("joints", "forces")):
        for x in [node for node in ordered([formula]) if node in whole]:
            needed = [str(node.value) for node in ordered([whole[x]]) if node.value in results]
            if needed:
                message = f"algebraic loop: '{x.value}' depends on '{needed[0]}', a result that depends on all forces"
                yield ModelError(message, "algebraic-loop", path=path, rule="none may need itself", suggestion=LOOSEN)
    held = set(map(symbol, model.held))
    for joint in model.joints:
        if isinstance(joint, VelocityConstraint):
            used = [whole.get(x, x) for x in ordered([as_expr(joint.formula)])]
            if wrong := next((x for x in ordered(used) if x in held), None):
                message = f"input '{wrong.value}' may jump, and with it velocities that a constraint prescribes"
                hint = "give it a formula of time, or let a state follow it"
                path = f"joints.{joint.name}.formula"
                yield ModelError(message, "bad-input", path=path, suggestion=hint)
