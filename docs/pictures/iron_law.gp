set title "Overlap of memory and arithmetic: (a^p + b^p)^{1/p}"
set xlabel "arithmetic time O/R over memory time D/BW"
set ylabel "time over memory time"
set xrange [0:2]
set yrange [0.8:3.2]
pnorm(x, p) = (1 + x**p)**(1.0 / p)
plot x < 1 ? 1 : x ls 1 title "p large: full overlap (roofline)", pnorm(x, 3) ls 4 title "p = 3", \
     pnorm(x, 2) ls 2 title "p = 2", pnorm(x, 1) ls 8 title "p = 1: no overlap"
