set title "All-reduce over 8 H100, captured in a graph"
set logscale xy
set xlabel "message (bytes)"
set ylabel "time (us)"
set xrange [1024:1.1e9]
set yrange [0.005:100000]
set format x "10^{%L}"
plot data."/nccl" using 1:2 ls 1 with lines title "bound", "" using 1:3 ls 2 with lines title "prediction, NCCL", \
     data."/custom" using 1:3 ls 4 with lines title "prediction, engine's kernels"
