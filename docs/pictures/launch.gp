set title "800 kernels of a step (launch costs of an H200 and its host)"
set logscale xy
set xlabel "mean kernel time (us)"
set ylabel "step time per kernel (us)"
set xrange [0.25:32]
set yrange [0.4:60]
plot data."/synchronised" ls 8 with lines title "synchronised: a wait after each", data."/stream" ls 2 with lines title "stream", \
     data."/graph" ls 4 with lines title "graph", x ls 1 title "kernels alone"
