set title "Attention: unfused over fused DRAM bytes, 1 + S/d_h"
set logscale xy
set xlabel "prompt length S (tokens)"
set ylabel "bytes, unfused over fused"
set xrange [64:65536]
set yrange [1:2000]
plot data."/64" ls 4 with lines title "head width 64", data."/128" ls 2 with lines title "head width 128", \
     data."/256" ls 1 with lines title "head width 256"
