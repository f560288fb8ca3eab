set title "Bound of a GEMM m x 8192 x 8192 on an H100"
set logscale x
set xlabel "rows m (tokens)"
set ylabel "elasticity of the time"
set xrange [8:4096]
set yrange [-1.1:0.4]
plot data."/dram" ls 1 with lines title "DRAM bandwidth", data."/dram" using 1:(-1 - $2) ls 2 with lines title "matrix peak"
