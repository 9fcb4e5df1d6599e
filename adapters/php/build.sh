#!/bin/sh
# build.sh VERSION: that version of the extension, compiled for the machine's PHP, which loads it
# where PHP_INI_SCAN_DIR is ./conf.d.
set -eu

# Debian's source package carries old releases too. Its list of packages is kept here, so that
# nobody has to be root, or to have sources among the machine's own.
debian() {
    mkdir -p apt/parts apt/lists/partial apt/cache/archives/partial
    cp /etc/apt/sources.list.d/*.sources apt/parts/ 2>/dev/null || true
    sed -s -i 's/^Types:.*/Types: deb-src/' apt/parts/*.sources 2>/dev/null || true
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
        sed -n 's/^deb /deb-src /p' >apt/parts/machine.list
    set -- -q -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$PWD/apt/parts" \
        -o "Dir::State::Lists=$PWD/apt/lists" -o "Dir::Cache=$PWD/apt/cache"
    apt-get "$@" update && apt-get "$@" source --download-only php-mongodb
    tar -xf php-mongodb_*.orig.tar.*
}

pecl download "mongodb-$1" && tar -xf "mongodb-$1.tgz" || debian
[ -d "mongodb-$1" ] || { echo "no source of ext-mongodb $1 was found" >&2; exit 1; }
(cd "mongodb-$1" && phpize && ./configure -q && make -s -j "$(nproc)")
mkdir -p conf.d
cp "$(php -r 'echo PHP_CONFIG_FILE_SCAN_DIR;')"/*.ini conf.d/
rm -f conf.d/*mongodb.ini
echo "extension=$PWD/mongodb-$1/modules/mongodb.so" >conf.d/20-mongodb.ini
