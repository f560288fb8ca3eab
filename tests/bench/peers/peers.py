#!/usr/bin/env python3
"""peers.py --bench BENCH_SUMMARY [--genz DIR] [--llm-analysis DIR] [--llm-viewer DIR] [--blis DIR] [--json]

CPU time of one decode step by perfmodel and by other models, in one run, as a Markdown table. DIR is a checkout of
the model; its Python dependencies are those of the interpreter that runs this. BENCH_SUMMARY is the program
bench_summary, optimised, as `./run bench --summary` builds it."""
import argparse
import json
import os
import subprocess
import sys

import measure

PEERS = [('genz', 'GenZ'), ('llm-analysis', 'llm-analysis'), ('llm-viewer', 'LLM-Viewer'), ('blis', 'BLIS')]
OWN = [('bound_step_ns', 'perfmodel, bound'), ('bound_step_prepared_ns', 'perfmodel, bound, prepared'),
       ('calibrated_step_ns', 'perfmodel, calibrated'),
       ('calibrated_step_prepared_ns', 'perfmodel, calibrated, prepared')]
LIMIT_SECONDS = 600
HEADING = '''One decode step of Llama 3 70B in bf16 on H100 SXM, batch %(batch)d, context %(context)s, tensor parallel \
%(tensor)d.
CPU time of a call, the least of several rounds. perfmodel's is a mean over batches 1 to 251 at that context.
'''


class refused(Exception):
    """What the arguments or perfmodel's own figures lack: a message and an exit status."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def own_times(program):
    """Times of perfmodel's steps in ns, as bench_summary prints them."""
    try:
        said = json.loads(subprocess.run([program], stdout=subprocess.PIPE, check=True, text=True).stdout)
        return {key: float(said[key]) for key, _ in OWN}
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        raise refused(1, '%s: %s' % (program, measure.reason_of(error)))


def commit_of(folder):
    """Commit of a checkout, or nothing where the folder is none."""
    git = ['git', '-c', 'safe.directory=*', '-C', folder, 'rev-parse']
    try:
        said = subprocess.run(git + ['--show-toplevel', '--short=8', 'HEAD'], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout.split('\n')
    except OSError:
        return ''
    return said[1] if len(said) > 1 and os.path.realpath(said[0]) == os.path.realpath(folder) else ''


def measured(name, folder):
    """What measure.py says of a peer, in a process of its own."""
    adapter = os.path.join(measure.HERE, name.replace('-', '_') + '.py')
    command = [sys.executable, os.path.join(measure.HERE, 'measure.py'), adapter, folder]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors='replace', timeout=LIMIT_SECONDS)
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {'error': 'no result in %d s' % LIMIT_SECONDS}
    except ValueError:
        last = done.stderr.strip().split('\n')[-1][:160]
        return {'error': last or 'ended with status %d' % done.returncode}


def peer_row(name, shown, folder, own):
    """A peer's figures, and how many times as fast perfmodel's steps are."""
    if folder is None:
        return {'peer': shown, 'error': 'no checkout: --%s DIR' % name}
    row = {'peer': shown, 'commit': commit_of(folder), **measured(name, folder)}
    if 'error' not in row:
        for kind in ('bound', 'calibrated'):
            row['times_as_fast_' + kind] = 1e9 * row['call_s'] / own[kind + '_step_ns']
    return row


def figure(value):
    """Three significant digits."""
    return '{:,.0f}'.format(float('%.3g' % value)) if value >= 100 else '%.3g' % value


def duration(seconds):
    if seconds is None:
        return ''
    seconds = float('%.3g' % seconds)
    for unit, size in (('s', 1.0), ('ms', 1e-3), ('us', 1e-6)):
        if seconds >= size:
            return figure(seconds / size) + ' ' + unit
    return figure(seconds / 1e-9) + ' ns'


def line(*cells):
    return '| ' + ' | '.join(str(cell).replace('|', '\\|') for cell in cells) + ' |'


def table(own, commit, rows):
    step = dict(vars(measure.STEP), context='{:,}'.format(measure.STEP.context))
    lines = [HEADING % step,
             line('model', 'commit', 'import', 'a call', 'bound, times as fast', 'calibrated, times as fast', 'answer',
                  'remark'), '|' + '---|' * 8]
    for key, shown in OWN:
        lines.append(line(shown, commit, '', duration(1e-9 * own[key]), '', '', '', ''))
    for row in rows:
        if 'error' in row:
            lines.append(line(row['peer'], row.get('commit', ''), '', '', '', '', '', row['error']))
            continue
        lines.append(line(row['peer'], row['commit'], duration(row['import_s']), duration(row['call_s']),
                          figure(row['times_as_fast_bound']), figure(row['times_as_fast_calibrated']),
                          figure(row['answer_ms']) + ' ms', row['remark']))
    return '\n'.join(lines)


def arguments(argv):
    parser = argparse.ArgumentParser(description='CPU time of one decode step by perfmodel and by other models.')
    parser.add_argument('--bench', required=True, metavar='BENCH_SUMMARY', help='program bench_summary, optimised')
    for name, shown in PEERS:
        parser.add_argument('--' + name, metavar='DIR', help='checkout of ' + shown)
    parser.add_argument('--json', action='store_true', help='JSON instead of a table')
    given = vars(parser.parse_args(argv))
    folders = {name: given[name.replace('-', '_')] for name, _ in PEERS}
    for name, folder in folders.items():
        if folder is not None and not os.path.isdir(folder):
            raise refused(2, '--%s %s: no such folder' % (name, folder))
    if not os.path.isfile(given['bench']):
        raise refused(2, '--bench %s: no such program' % given['bench'])
    return given, {name: folder and os.path.abspath(folder) for name, folder in folders.items()}


def main(argv):
    given, folders = arguments(argv)
    own = own_times(os.path.abspath(given['bench']))
    commit = commit_of(os.path.abspath(os.path.join(measure.HERE, '..', '..', '..')))
    rows = [peer_row(name, shown, folders[name], own) for name, shown in PEERS]
    if given['json']:
        print(json.dumps({'step': vars(measure.STEP), 'perfmodel': dict(own, commit=commit), 'peers': rows}))
    else:
        print(table(own, commit, rows))


if __name__ == '__main__':
    try:
        main(sys.argv[1:])
    except refused as error:
        print('peers.py: %s' % error, file=sys.stderr)
        sys.exit(error.status)
