#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of every type through Filebeat, with the configuration of docs/guide/siem-elastic.md, and its Suricata module.

    filebeat.py SLUICE MAKE_EVENTS CACHE

Filebeat is built from its Go module. Its module for Suricata reads the events; an OpenSearch node, from Maven, then
runs the module's ingest pipelines, and stores the results in an index whose mapping is made from the events. Maven has
no Elasticsearch; the processors geoip, user_agent and uri_parts need databases or licences that the node does not have,
and are left out of the pipelines. CACHE keeps what was downloaded and built.

Exit code 77 if Go, Java or Maven, or their packages, cannot be had.
"""
import collections
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import yaml

import events as source

HERE = os.path.dirname(os.path.abspath(__file__))
MODULE, VERSION = 'github.com/elastic/beats/v7', 'v7.17.29'
LEFT_OUT = {'geoip', 'user_agent', 'uri_parts'}
WAIT_SECONDS = 120


def skip(reason):
    print(f'SKIP: {reason}')
    sys.exit(77)


def find_go():
    """A Go that can build Filebeat: the one of Debian 12 is too old."""
    for folder in os.environ['PATH'].split(':') + ['/usr/local/go/bin']:
        go = os.path.join(folder, 'go')
        said = subprocess.run([go, 'version'], capture_output=True, text=True, check=False).stdout \
            if os.access(go, os.X_OK) else ''
        version = re.search(r'go1\.(\d+)', said)
        if version and int(version[1]) >= 23:
            return go
    skip('no Go 1.23 or newer')


def run(command, folder, name):
    """Runs a command; skips the test if it fails, with the end of its output."""
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        skip(f'{name}: {done.stdout[-1500:]}')
    return done.stdout


def build_filebeat(go, cache):
    """Returns the program and the folder of the module's sources."""
    folder = cache + '/filebeat'
    os.makedirs(folder, exist_ok=True)
    beats = json.loads(run([go, 'mod', 'download', '-json', f'{MODULE}@{VERSION}'], folder, 'Filebeat'))['Dir']
    if not os.path.exists(folder + '/filebeat'):
        # A module that is built as a program of another module needs its replacements of modules, too.
        with open(beats + '/go.mod', encoding='utf-8') as f:
            lines = f.read().replace(f'module {MODULE}', 'module sluice.tests/filebeat', 1)
        with open(folder + '/go.mod', 'w', encoding='utf-8') as f:
            f.write(f'{lines}\nrequire {MODULE} {VERSION}\n')
        shutil.copyfile(beats + '/go.sum', folder + '/go.sum')
        os.chmod(folder + '/go.sum', 0o644)
        shutil.copyfile(HERE + '/main.go', folder + '/main.go')
        run([go, 'build', '-mod=mod', '-o', 'filebeat', '.'], folder, 'go build')
    return folder + '/filebeat', beats


def build_node(cache):
    """Returns the class path of Ingest."""
    folder = cache + '/ingest'
    os.makedirs(folder, exist_ok=True)
    shutil.copyfile(HERE + '/pom.xml', folder + '/pom.xml')
    if not glob.glob(folder + '/lib/ingest-common*.jar'):
        run(['mvn', '-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=lib'], folder, 'mvn')
    done = subprocess.run(['javac', '-cp', folder + '/lib/*', '-d', folder + '/classes', HERE + '/Ingest.java'],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit('javac: ' + done.stderr)
    return f'{folder}/classes:{folder}/lib/*'


def read_lines(path):
    try:
        with open(path, encoding='utf-8') as f:
            return f.read().split('\n')[:-1]
    except FileNotFoundError:
        return []


def run_filebeat(program, beats, folder, count):
    """The events that Filebeat's module sends to the ingest node."""
    home = folder + '/home'
    shutil.copytree(beats + '/x-pack/filebeat/module/suricata', home + '/module/suricata')
    modules = source.page_block('siem-elastic.md', '- module: suricata')
    with open(folder + '/filebeat.yml', 'w', encoding='utf-8') as f:
        f.write('filebeat.modules:\n' + modules.replace('/var/log/sluice/eve.json', folder + '/eve.json') +
                f'output.file: {{ path: {folder}/sent, filename: events, rotate_every_kb: 1048576 }}\n'
                'logging.to_stderr: true\n')
    with open(folder + '/filebeat.log', 'w', encoding='utf-8') as log:
        filebeat = subprocess.Popen([program, '-e', '--strict.perms=false', '--path.home', home, '--path.data',
                                     folder + '/data', '-c', folder + '/filebeat.yml'], stderr=log)
    end = time.monotonic() + WAIT_SECONDS
    while len(read_lines(folder + '/sent/events')) < count and filebeat.poll() is None and time.monotonic() < end:
        time.sleep(0.2)
    filebeat.send_signal(signal.SIGKILL)  # a new process for each run; it needs minutes for an orderly end
    filebeat.wait()
    sent = read_lines(folder + '/sent/events')
    if len(sent) != count:
        print('\n'.join(read_lines(folder + '/filebeat.log')[-20:]))
        sys.exit(f'Filebeat sent {len(sent)} of {count} events')
    return folder + '/sent/events'


def write_pipelines(beats, folder):
    """Writes the pipelines as Filebeat loads them, and returns the number of processors that are left out."""
    os.makedirs(folder)
    left_out = 0
    for path in glob.glob(beats + '/x-pack/filebeat/module/suricata/eve/ingest/*.yml'):
        with open(path, encoding='utf-8') as f:
            text = re.sub(r'\{< IngestPipeline "([\w-]+)" >\}', lambda match: pipeline_name(match[1]), f.read())
        definition = yaml.safe_load(text)
        kept = [each for each in definition['processors'] if not LEFT_OUT & set(each)]
        left_out += len(definition['processors']) - len(kept)
        definition['processors'] = kept
        name = os.path.splitext(os.path.basename(path))[0]
        with open(f'{folder}/{pipeline_name(name)}.json', 'w', encoding='utf-8') as f:
            json.dump(definition, f)
    return left_out


def pipeline_name(name):
    return f'filebeat-{VERSION[1:]}-suricata-eve-{name}'


def problem(event):
    """What is wrong with an event as it is stored, or None."""
    eve, ecs = event['suricata']['eve'], event['event']
    kind = eve['event_type']
    original = json.loads(ecs['original'])
    if 'error' in event:
        return f'{event["error"]}'
    if ecs['kind'] != {'alert': 'alert', 'stats': 'metric'}.get(kind, 'event'):
        return f'event.kind is {ecs["kind"]}'
    if 'src_ip' in original and event['source']['ip'] != original['src_ip']:
        return f'source.ip is {event["source"].get("ip")}'
    if kind == 'alert':
        alert = original['alert']
        if event['rule']['id'] != str(alert['signature_id']) or ecs['severity'] != alert['severity']:
            return f'rule {event["rule"]}, severity {ecs.get("severity")}'
        if ('denied' in ecs['type']) != (alert['action'] == 'blocked'):
            return f'event.type is {ecs["type"]}'
    if 'sluice' in original and eve.get('sluice') != original['sluice']:
        return 'suricata.eve.sluice is not the object of the event'
    return None


def main():
    sluice, make_events, cache = map(os.path.abspath, sys.argv[1:4])
    for tool in ('javac', 'mvn'):
        if not shutil.which(tool):
            skip(f'no program {tool}')
    program, beats = build_filebeat(find_go(), cache)
    classes = build_node(cache)
    with tempfile.TemporaryDirectory() as folder:
        count = len(source.write_events(sluice, make_events, folder + '/eve.json'))
        sent = run_filebeat(program, beats, folder, count)
        left_out = write_pipelines(beats, folder + '/pipelines')
        os.makedirs(folder + '/node')
        done = subprocess.run(['java', '-Xmx1g', '-cp', classes, 'Ingest', folder + '/node', folder + '/pipelines',
                               sent, folder + '/stored', pipeline_name('pipeline')],
                              capture_output=True, text=True, check=False)
        said = [line for line in done.stdout.splitlines() if line.startswith(('SENT', 'FAILED'))]
        stored = [json.loads(line) for line in read_lines(folder + '/stored')]
    kinds = collections.Counter(event['suricata']['eve']['event_type'] for event in stored)
    wrong = collections.Counter(f'{event["suricata"]["eve"]["event_type"]}: {found}' for event in stored
                                if (found := problem(event)))
    print(f'{count} events, {len(stored)} stored, {left_out} processors left out: ' +
          ', '.join(f'{number} {kind}' for kind, number in sorted(kinds.items())))
    for text, number in wrong.most_common(20):
        print(f'WRONG {number} times: {text}')
    if done.returncode or said != [f'SENT {count}'] or len(stored) != count:
        print('\n'.join(said) or done.stdout[-3000:] + done.stderr[-3000:])
        return 1
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
