set title "Training step, 8.03e9 parameters, 8 GPUs"
set xlabel "gradient buckets"
set ylabel "step time (ms)"
set xrange [0:50]
set yrange [240:320]
set key top right noreverse Right
plot data."/law" with linespoints ls 2 title "all-reduce in buckets behind the backward pass", \
     249.42 ls 1 title "compute alone"
