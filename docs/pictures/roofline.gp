set title "bf16 GEMMs on an H200, weights cold"
set logscale xy
set xlabel "arithmetic intensity (FLOP per DRAM byte)"
set ylabel "achieved (TFLOP/s)"
set xrange [0.5:4000]
set yrange [1:2000]
set key bottom right noreverse Right
bound(x) = 989.4 < 4.8 * x ? 989.4 : 4.8 * x
plot bound(x) ls 1 title "min(989 TFLOP/s, 4.8 TB/s x I)", \
     data."/measured" ls 3 with points title "measured (cuBLASLt)"
