set title "One load of 4 bytes by each of 32 lanes"
set xlabel "stride (elements)"
set ylabel "sectors, or conflict ways"
set xrange [1:40]
set yrange [0:36]
gcd(a, b) = b == 0 ? a : gcd(b, int(a) % int(b))
sectors(s) = ceil((31 * s * 4 + 4) / 32.0) > 32 ? 32 : ceil((31 * s * 4 + 4) / 32.0)
set key at graph 0.98, 0.72 right noreverse Right opaque
set samples 40
plot sectors(x) ls 2 with steps title "sectors of global memory", gcd(x, 32) ls 1 with impulses title "bank conflict of shared memory"
