"""What is measured: a new kind of subject is one file, and a condition of calls is stated once."""

from dataclasses import fields, replace
from pathlib import Path

import pytest
from lenet_bench import CompareOptions, compare
from lenet_bench.between import Between
from lenet_bench.errors import ResultError
from lenet_bench.measure.options import Entry
from lenet_bench.results.breakdown import kind
from lenet_bench.results.model import Rules
from lenet_bench.why import Way
from scratch_subject import Product


@pytest.mark.parametrize(("factor", "status"), [(1.0, "ok"), (1.1, "wrong")])
def test_a_new_kind_of_subject_is_one_file(factor, status):
    here = replace(Entry.of_backend("numpy", 1), path=(str(Path(__file__).parent),))
    result = compare(CompareOptions((here,), subject=Product(factor), rounds=1))
    assert result.rules.network == "product"
    assert result.backends[0].status == status, result.backends[0].reason


def test_each_condition_of_calls_is_an_option_and_a_rule_of_the_file():
    options = CompareOptions(interval_s=0.02, keep_warm_s=0.01, cold=True)
    for condition in fields(Between):
        assert getattr(options.between, condition.name), condition.name
        assert condition.name in Rules.__struct_fields__


def test_a_part_of_a_call_has_a_known_name():
    with pytest.raises(ValueError, match="no part"):
        Way("second thoughts", "", lambda made: made)
    with pytest.raises(ResultError, match="second thoughts"):
        kind("second thoughts")
