"""XOR is separated by two flat ellipsoids."""


def test_xor_is_two_flat_ellipsoids_that_cross(runs):
    values = {name: column[0] for name, column in runs("xor").values.items()}
    assert (values["plain.n"], values["plain.meet"], values["plain.right"]) == (2, 1, 4)
    assert values["plain.flatness"] < 1e-5 < values["added.flatness"]


def test_printed_lines_take_all_points_where_the_reduced_hulls_meet(runs):
    values = {name: column[0] for name, column in runs("xor").values.items()}
    assert (values["relaxed.meet"], values["relaxed.taken"]) == (1, 4)
