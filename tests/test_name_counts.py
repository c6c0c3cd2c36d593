"""The rules by which a name says nothing."""

from xla2py.documentation.name_counts import name_counts

SOURCE = """
def main(x, total_1):
    total = x + total_1
    total_2 = total * 2
    energy, d_product = layer(total_2)
    return energy + d_product


def layer(x):
    hidden_3 = x * 2
    return hidden_3, hidden_3


def check_arguments(arguments, signature):
    product = 1
"""


def test_names_of_operations_are_generic_and_numbers_are_seen():
    counts = name_counts(SOURCE)
    assert counts.names == ("total", "total_2", "energy", "d_product", "layer", "x", "hidden_3")
    assert counts.generic == 4 / 7  # total, total_2, d_product, x
    assert counts.numbered == 2 / 7


def test_a_module_without_names_has_no_share():
    assert name_counts("def main(x):\n    return x\n").generic == 0
