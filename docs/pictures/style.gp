# The terminal, colours and axes that all pictures share.
set terminal svg size 640,400 font "Helvetica,13" background "#ffffff"
set border 3 lc rgb "#444444"
set tics nomirror out
set grid lc rgb "#dddddd" lw 0.6
set title font ",13"
set key top left reverse Left samplen 2.5 spacing 1.15
set style line 1 lc rgb "#0072B2" lw 2.4 pt 7 ps 0.45                # bound
set style line 2 lc rgb "#D55E00" lw 2.4 pt 7 ps 0.45                # prediction
set style line 3 lc rgb "#000000" lw 1.2 pt 7 ps 0.45   # measured
set style line 4 lc rgb "#009E73" lw 2.4 pt 7 ps 0.45                # further cases, in this order
set style line 5 lc rgb "#CC79A7" lw 2.4 pt 7 ps 0.45
set style line 6 lc rgb "#E69F00" lw 2.4 pt 7 ps 0.45
set style line 7 lc rgb "#56B4E9" lw 2.4 pt 7 ps 0.45
set style line 8 lc rgb "#888888" lw 1.6 dt 2
set style fill solid 0.9 noborder
