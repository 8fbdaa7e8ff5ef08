import pytest
from rewardhub_math.forms import Leaf, Ordered, Unordered, has_relation, leaves, read_form
from rewardhub_math.tidy import tidy


def shape(text: str) -> str:
    """The form of ``text``, short."""

    def short(form: Leaf | Ordered | Unordered) -> str:
        if isinstance(form, Leaf):
            return form.text.replace(" ", "")
        inside = " ".join(short(item) for item in form.items)
        return f"{form.brackets}<{inside}>" if isinstance(form, Ordered) else f"{{{inside}}}"

    return short(read_form(tidy(text)))


SHAPES = {
    "5": "5",
    "(5)": "(5)",
    "(x)": "x",
    "1, 2": "{1 2}",
    r"1 \text{ and } 2": "{1 2}",
    r"\{1,2\}": "{1 2}",
    "{1,2}": "{1 2}",
    r"\{7\}": "7",
    "(1, 2)": "()<1 2>",
    "(x,y)=(1,2)": "()<1 2>",
    "(1,2,3)": "()<1 2 3>",
    "[0,9)": "[)<0 9>",
    r"\left(0,9\right]": "(]<0 9>",
    r"x \in [0,9)": "[)<0 9>",
    r"0 \le x < 9": "[)<0 9>",
    r"9 > x \ge 0": "[)<0 9>",
    "x>2": r"()<2 \infty>",
    "2<x": r"()<2 \infty>",
    r"x\le 2": r"(]<-\infty 2>",
    r"x<1 \text{ or } x>3": r"{()<-\infty 1> ()<3 \infty>}",
    r"(0,1)\cup(2,3)": "{()<0 1> ()<2 3>}",
    r"\{0\}\cup(2,3)": "{0 ()<2 3>}",
    r"1\pm\sqrt{5}": r"{1+\sqrt{5} 1-\sqrt{5}}",
    r"\pm 5": "{5 -5}",
    r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}": "matrix<row<1 2> row<3 4>>",
    r"\begin{bmatrix}1\\[2pt] 2\end{bmatrix}": "matrix<row<1> row<2>>",
    "(0;1),(2;3)": "{()<0 1> ()<2 3>}",
    "x=5": "5",
    "z = 1 + 1 = 2": "2",
    "a + 3z = 0": "a+3z=0",
    "2x+4y-3=0": "2x+4y-3=0",
    r"x \approx 11": "11",
}


@pytest.mark.parametrize(("text", "expected"), SHAPES.items())
def test_reads_the_structure_of_an_answer(text: str, expected: str) -> None:
    assert shape(text) == expected


def test_keeps_the_name_that_a_value_was_given() -> None:
    form = read_form("f(2)=5")
    assert isinstance(form, Leaf)
    assert (form.name, form.text) == ("f(2)", "5")


def test_keeps_what_a_value_rounds_itself_to() -> None:
    form = read_form(tidy(r"\sqrt{7} \approx 2.65"))
    assert isinstance(form, Leaf)
    assert form.text == r"\sqrt{7}"
    assert form.rounded is not None


def test_reads_words_without_their_article() -> None:
    form = read_form("the derivative")
    assert isinstance(form, Leaf)
    assert form.words == "derivative"


def test_keeps_the_unit_of_an_expression() -> None:
    form = read_form(tidy(r"2\sqrt{3}\text{ cm}"))
    assert isinstance(form, Leaf)
    assert form.text == r"2\sqrt{3}"
    assert form.unit is not None
    assert form.unit.dimension == "length"


def test_finds_every_leaf() -> None:
    texts = [leaf.text for leaf in leaves(read_form("{(1,2),x}"))]
    assert texts == ["1", "2", "x"]


def test_knows_an_inequality() -> None:
    assert has_relation(r"x\le 5")
    assert not has_relation(r"\left(1,2\right)")
