"""The chapters of theory at corners of their parameters: whatever a reader chooses, everything still holds."""

import nbformat
import pytest

from uaftc_lib.publish import CHECKOUT, parameters_of, read_source

EDGES = [{"lam": 1.0, "seed": 1}, {"lam": 100.0, "seed": 2}]
SIZES = [{"types": 4, "instances": 4}, {"types": 60, "instances": 150, "seed": 4}]
RANDOM = [*EDGES, {"dimension": 2, "seed": 3}, {"dimension": 40}, *SIZES]
TRAINED = [{"dimension": 5, "seed": 3}, {"dimension": 200}, {"class_size": 2000}, {"class_size": 10_000, "seed": 4}]
CORNERS = {
    "02_gradients": RANDOM,
    "03_polarity_dynamics": [*EDGES, *TRAINED],
    "04_attention_dynamics": [{"lam": 1.0, "seed": 1}, {"lam": 20.0, "large_lam": 200.0, "seed": 2}, *TRAINED],
    "05_embedding_geometry": [*EDGES, *TRAINED],
    "06_exact_dynamics": [*EDGES, *TRAINED],
    "07_variants": [*EDGES, {"lam": 1.0, "seed": 3}, *TRAINED[:2], {"class_size": 300}, {"epochs": 100, "seed": 4}],
    "18_errata": RANDOM,
}
CASES = [
    pytest.param(name, corner, id=name[:2] + "-" + "-".join(f"{key}-{value:g}" for key, value in corner.items()))
    for name, corners in CORNERS.items()
    for corner in corners
]


def execute(notebook: nbformat.NotebookNode, corner: dict, folder) -> str:
    """Run a notebook with other parameters; what its cells said that failed, empty if all is well."""
    import papermill

    source, target = folder / "source.ipynb", folder / "executed.ipynb"
    nbformat.write(notebook, source)
    try:
        papermill.execute_notebook(
            source, target, corner, cwd=CHECKOUT / "book", kernel_name="python3", progress_bar=False
        )
    except papermill.PapermillExecutionError as error:
        outputs = [output for cell in nbformat.read(target, 4).cells for output in cell.get("outputs", [])]
        lines = "".join(output.get("text", "") for output in outputs).splitlines()
        return "\n".join([f"{error.ename}: {error.evalue}", *(line for line in lines if line.startswith("FAILS"))])
    return ""


@pytest.mark.long
@pytest.mark.parametrize("name, corner", CASES)
def test_everything_still_holds(name, corner, tmp_path, dataset, monkeypatch):
    monkeypatch.setenv("TQDM_DISABLE", "1")
    if name in ("04_attention_dynamics", "18_errata"):
        dataset("sst")
    source = read_source(name)
    assert set(corner) <= set(parameters_of(source))
    assert execute(source, corner, tmp_path) == ""
