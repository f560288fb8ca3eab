set title "Causal prefill on an H200, 32 query and 8 KV heads"
set logscale xy
set xlabel "prompt length (tokens)"
set ylabel "time of one layer (ms)"
set xrange [450:20000]
set yrange [0.003:1000]
plot data."/law" using 1:2 ls 1 with lines title "bound, fused", "" using 1:3 ls 2 with lines title "prediction (FlashAttention-3)", \
     "< grep '^online_softmax_wgmma' ".data."/measured" using 2:3 ls 3 ps 0.6 with points title "measured, fused (own kernel)", \
     "< grep '^unfused' ".data."/measured" using 2:3 ls 3 pt 6 ps 0.7 with points title "measured, unfused"
