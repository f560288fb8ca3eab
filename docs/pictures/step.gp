set title "Llama 3.1 70B on 8 H100 (TP8, vLLM), context 4096"
set xlabel "batch (sequences)"
set ylabel "time of a decode step (ms)"
set style data histograms
set style histogram rowstacked
set boxwidth 0.7
set yrange [0:*]
set xrange [-0.6:8.6]
plot data."/law" using 2:xtic(1) lc rgb "#D55E00" title "GEMMs", "" using 3 lc rgb "#E69F00" title "attention", \
     "" using 4 lc rgb "#CC79A7" title "norms, other", "" using 5 lc rgb "#56B4E9" title "communication", \
     "" using 6 lc rgb "#009E73" title "host", "" using 0:7 with linespoints ls 1 title "bound"
