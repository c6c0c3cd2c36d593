"""JAX's ``logaddexp``, from which softplus and log-sigmoid are built, with its guard for equal infinities."""

from __future__ import annotations

from ..rewriting.rules import FloatRule, rule_pass

_SAFE = "add(maximum(x, y), log_plus_one(exponential(negate(abs(d)))))"
_SAFE_OF_ZERO = "select(isnan({0}), x, add(maximum(x, 0), log_plus_one(exponential(negate(abs({0}))))))"

LOGADDEXP = FloatRule(f"select(isnan((d := subtract(x, y))), add(x, y), {_SAFE})", "logaddexp(x, y)")
RULES = (
    LOGADDEXP,
    *(FloatRule(_SAFE_OF_ZERO.format(difference), "logaddexp(x, 0)") for difference in ("x", "(d := subtract(0, x))")),
)

softplus = rule_pass(__name__, "Raise the logarithm of a sum of exponentials of two.", RULES)
