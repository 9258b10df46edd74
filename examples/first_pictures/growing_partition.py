"""
Growth of a partition, round by round
=====================================

How do the ellipsoids of a partition come about? :func:`~sepc.partitions.partition` is the core of
:class:`~sepc.SEPClassifier`: it takes the points of two labels and cuts off one ellipsoid of each label per round.
The picture shows the rounds one after the other, on two interleaved classes in the plane.
"""

# %%
# Partition of two point sets
# ---------------------------
# ``n_imp`` is the number of points of the other label that an ellipsoid may hold. It is the only parameter of the
# method.

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import sepc

X, y = make_moons(200, noise=0.15, random_state=0)
sets = X[y == 0], X[y == 1]
P = sepc.partitions.partition(*sets, n_imp=4)
print(P)
print("stopped:", P.stopped)

# %%
# Rounds
# ------
# A round puts a hyperplane, here a line, between what remains of the two sets. The points beyond the line on either
# side are cut back until their smallest ellipsoid holds at most ``n_imp`` points of the other label. These points then
# leave their set. Each ellipsoid is a :class:`~sepc.partitions.Block`: its ``iteration`` is the number of the round,
# its ``members`` are row numbers.

colours = "#0072B2", "#D55E00"
figure, panels = plt.subplots(1, P.n_iter, figsize=(11, 2.9), sharex=True, sharey=True, layout="constrained")
for ax, now in zip(panels, range(1, P.n_iter + 1), strict=True):
    for side, colour in enumerate(colours):
        ax.scatter(*sets[side].T, s=8, color=colour, alpha=0.2, linewidths=0)  # all points, pale
        later = [block for block in P.blocks if block.side == side and block.iteration >= now]
        for block in later:
            ax.scatter(*sets[side][block.members].T, s=8, color=colour, linewidths=0)  # what remained before this round
    for block in P.blocks:
        if block.iteration <= now:
            look = {"linewidth": 1.8} if block.iteration == now else {"linewidth": 0.8, "alpha": 0.35}
            ax.plot(*block.ellipsoid.boundary().T, color=colours[block.side], **look)
    normal, offset = P.hyperplanes[now - 1]
    foot = normal * offset / (normal @ normal)
    ax.axline(foot, foot + normal[::-1] * (-1, 1), color="0.4", linewidth=0.9, linestyle=":")
    ax.set(xlabel="first feature", xlim=(-1.6, 2.6), ylim=(-1.1, 1.6), title=f"round {now}")
panels[0].set_ylabel("second feature")
plt.show()

# %%
# Thick outlines are the ellipsoids of the round, dotted is its hyperplane, and pale points have left in an earlier
# round. The first ellipsoids lie at the outer ends of the moons; later ones reach into earlier ones of the other
# label. The hyperplane need not separate the classes: points beyond it wait for a later round.
#
# A partition without any impurity fails on the same points. What is left at the end becomes one ellipsoid of each
# label (``iteration`` 0), which may hold any number of points of the other label.

strict = sepc.partitions.partition(*sets, n_imp=0)
print(strict)
print("left over:", [len(block.members) for block in strict.blocks if block.left_over])
print("stopped:", strict.stopped)
