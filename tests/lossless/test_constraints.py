import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftgate.lossless.constraints import PLAIN, Setting, constrain

ROW = np.log(np.array([[0.4, 0.3, 0.2, 0.1]]))


@pytest.mark.parametrize(
    ("setting", "kept"),
    [
        (PLAIN, [0.4, 0.3, 0.2, 0.1]),
        (Setting(top_k=2), [4 / 7, 3 / 7, 0, 0]),
        (Setting(top_k=1), [1, 0, 0, 0]),
        (Setting(top_k=9), [0.4, 0.3, 0.2, 0.1]),
        (Setting(top_p=0.65), [4 / 7, 3 / 7, 0, 0]),
        (Setting(top_p=0.01), [1, 0, 0, 0]),
        (Setting(top_k=2, top_p=0.5), [1, 0, 0, 0]),
        (Setting(temperature=0.5), np.array([16, 9, 4, 1]) / 30),
    ],
)
def test_what_is_kept(setting, kept):
    np.testing.assert_allclose(constrain(ROW, setting), [kept], atol=1e-12)


def test_tokens_as_likely_as_the_kth_stay():
    tied = np.log(np.array([[0.4, 0.2, 0.2, 0.2]]))
    assert (constrain(tied, Setting(top_k=2)) > 0).all()


@given(
    st.lists(st.integers(-60, 60), min_size=2, max_size=9, unique=True),
    st.floats(0.1, 3),
    st.integers(1, 9),
    st.floats(0.05, 1),
)
def test_result_is_a_distribution_in_the_order_of_the_logits(row, temperature, top_k, top_p):
    logits = np.array([row]) / 3
    p = constrain(logits, Setting(temperature, top_k, top_p))[0]
    assert p.sum() == pytest.approx(1)
    assert 1 <= np.count_nonzero(p) <= top_k
    assert (np.diff(p[np.argsort(row)]) >= 0).all()
