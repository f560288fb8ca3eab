set title "GEMM, n = 14336, k = 4096, on an H200, bf16"
set logscale xy
set xlabel "rows m (tokens)"
set ylabel "time (us)"
set xrange [1:8192]
set yrange [15:10000]
plot data."/law" using 1:4:5 with filledcurves fc rgb "#D55E00" fs transparent solid 0.18 title "80 % interval", \
     "" using 1:2 ls 1 with lines title "bound", "" using 1:3 ls 2 with lines title "prediction", \
     data."/measured" ls 3 ps 0.6 with points title "measured (cuBLASLt, not in the fit)"
