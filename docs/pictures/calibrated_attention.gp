set title "Decode attention on an H200: 64 sequences, TP8 of 70B"
set logscale xy
set xlabel "context (tokens)"
set ylabel "time of one layer (us)"
set xrange [128:65536]
set yrange [0.5:20000]
plot data."/law" using 1:4:5 with filledcurves fc rgb "#D55E00" fs transparent solid 0.18 title "80 % interval", \
     "" using 1:2 ls 1 with lines title "bound", "" using 1:3 ls 2 with lines title "prediction (FlashAttention-3)", \
     "< echo 4096 47.8" ls 3 ps 0.7 with points title "measured (AIConfigurator)"
