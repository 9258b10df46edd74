"""The demonstration shows the whole job and writes its files."""

from sepc import demo


def test_the_demo_tells_the_whole_story_and_writes_a_report(capsys, tmp_path):
    demo.main(tmp_path / "shown")
    told = capsys.readouterr().out
    for part in (
        "to compile the kernels",
        "Right on",
        "accepted",
        "Why labels are refused",
        "since the trust is too low",
        "Where the test records lie",
        "refused at any trust, since the record is strange",
        "0 % of the training records are as strange",
        "benign#1",
        "Predicted",
        str(tmp_path / "shown" / "report.html"),
    ):
        assert part in told
    assert {"report.html", "data.csv", "new.csv"} == {path.name for path in (tmp_path / "shown").iterdir()}
