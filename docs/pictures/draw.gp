# gnuplot -e "data = 'FOLDER'; set output 'FILE.svg'" -c draw.gp PICTURE
load "style.gp"
load ARG1.".gp"
