# readme.gp: draws readme.svg from readme.dat. readme.sh makes both again.
set terminal svg size 820,430 font 'Helvetica,13' background rgb 'white'
set output 'readme.svg'

stats 'readme.dat' index 0 using 1 name 'PEAK' nooutput
stats 'readme.dat' index 0 using 2 name 'RIDGE' nooutput
peak = PEAK_min      # TFLOP/s
ridge = RIDGE_min      # FLOP/B
bandwidth = peak / ridge # TB/s

set logscale xy
set xrange [0.5:4000]
set yrange [1:2000]
set xlabel 'arithmetic intensity, FLOP/B'
set ylabel 'TFLOP/s'
set format y '%g'
set grid lc rgb '#dddddd'
set errorbars small
set border 3
set tics nomirror
set key at graph 0.99, 0.05 right bottom reverse Left samplen 1 spacing 1.3
set title 'One layer of Llama 3.1 8B on an H100: predicted rates under the roofline (bf16)'

set label 1 'DRAM: 3.35 TB/s' at 3.2, 3.2 * bandwidth * 1.3 rotate by 28 tc rgb '#555555'
set label 2 'tensor cores: 989 TFLOP/s' at 700, peak * 1.4 tc rgb '#555555' center
set label 3 sprintf('ridge %.0f FLOP/B', ridge) at ridge * 0.93, 1.4 right tc rgb '#555555'
set arrow 1 from ridge, 1 to ridge, peak nohead dt 3 lc rgb '#999999'

array colour[3] = ['#1f77b4', '#d95f02', '#1b9e77']
array name[3] = ['decode, batch 1', 'decode, batch 64', 'prefill, 2048 tokens']
plot for [i = 1:3] 'readme.dat' index i using 2:3:4:5 every ::0::3 with yerrorbars \
       pt 7 ps 0.8 lc rgb colour[i] title name[i], \
     for [i = 1:3] '' index i using 2:3:4:5 every ::4::4 with yerrorbars \
       pt 8 ps 1.1 lc rgb colour[i] notitle, \
     keyentry with points pt 7 ps 0.8 lc rgb 'black' title 'GEMM', \
     keyentry with points pt 8 ps 1.1 lc rgb 'black' title 'attention', \
     (x < ridge ? x * bandwidth : peak) with lines lw 2 lc rgb 'black' notitle
