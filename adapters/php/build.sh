#!/bin/sh
# build.sh VERSION PHP: compiles that version of the extension for this PHP, which loads it if
# PHP_INI_SCAN_DIR is ./conf.d.
set -eu
version=$1 php=$2

# Debian's source package has old releases too. Its list of packages is kept here, so that this
# needs neither root nor sources in the machine's own list.
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

# php8.2 has phpize8.2 and php-config8.2.
beside() { echo "$php" | sed "s,php\([^/]*\)\$,$1\1,"; }

pecl download "mongodb-$version" && tar -xf "mongodb-$version.tgz" || debian
[ -d "mongodb-$version" ] || { echo "no source of ext-mongodb $version was found" >&2; exit 1; }
(cd "mongodb-$version" && "$(beside phpize)" &&
    ./configure -q --with-php-config="$(command -v "$(beside php-config)")" &&
    make -s -j "$(nproc)")
mkdir -p conf.d
cp "$("$php" -r 'echo PHP_CONFIG_FILE_SCAN_DIR;')"/*.ini conf.d/
rm -f conf.d/*mongodb.ini
echo "extension=$PWD/mongodb-$version/modules/mongodb.so" >conf.d/20-mongodb.ini
