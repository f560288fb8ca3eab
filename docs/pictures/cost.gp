set title "4 GPUs at 2.7 USD/h each"
set logscale x
set xlabel "throughput of all GPUs (output tokens/s)"
set ylabel "USD per million tokens"
set xrange [100:10000]
set yrange [0:30]
set key top right noreverse Right
cost(x, u) = 4 * 2.7 / 3600 / x / u * 1e6
plot cost(x, 1) ls 1 title "utilisation 100 %", cost(x, 0.4) ls 2 title "40 %", cost(x, 0.2) ls 4 title "20 %"
