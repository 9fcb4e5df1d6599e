<?php

/*
 * The least code with which a PHP program does the adapter's work, for comparison with it.
 *
 * loop.php URI DATABASE COLLECTION OPERATION WORKERS POOL [NUMBER]. Each line of its input is the
 * length of a turn in ms; it answers with the operations done, the ns they took and their end. It
 * is one worker: the one with NUMBER, from 0, of WORKERS programs.
 */

declare(strict_types=1);

use MongoDB\BSON\Binary;
use MongoDB\BSON\ObjectId;
use MongoDB\Driver\BulkWrite;
use MongoDB\Driver\Manager;
use MongoDB\Driver\Query;

const LOADED = 20_000; // documents that there are to be found: keys 0 and up
const STRIDE = 7_919; // coprime to LOADED: every key comes, in an order that no cache knows
const PREFIX = '6955b900';

function decoded(string $data): array
{
    $pool = [];
    for ($at = 0; $at < strlen($data); $at += $length) {
        $length = unpack('V', $data, $at)[1];
        $types = ['root' => 'array', 'document' => 'array', 'array' => 'array'];
        $pool[] = MongoDB\BSON\toPHP(substr($data, $at, $length), $types);
    }
    return $pool;
}

[, $uri, $database, $collection, $operation, $workers, $path] = $argv;
$namespace = "$database.$collection";
$manager = new Manager($uri);
$pool = decoded(file_get_contents($path));
// An application would have made each; PHP copies the rest of a document when it is written to.
$binaries = array_keys(array_filter($pool[0], fn ($value) => $value instanceof Binary));
[$key, $sum] = [(int) ($argv[7] ?? 0), 0];

$insertOne = function (int $untilNs) use (
    $manager,
    $namespace,
    $pool,
    $binaries,
    $workers,
    &$key
): array {
    $starts = $ends = [];
    for ($nowNs = hrtime(true); $nowNs < $untilNs; $key += $workers) {
        $document = $pool[$key % count($pool)];
        foreach ($binaries as $name) {
            $document[$name] = new Binary($document[$name]->getData(), $document[$name]->getType());
        }
        $document['_id'] = new ObjectId(PREFIX . sprintf('%016x', $key));
        $document['number'] = $key;
        $starts[] = hrtime(true);
        $bulk = new BulkWrite();
        $bulk->insert($document);
        $manager->executeBulkWrite($namespace, $bulk);
        $ends[] = $nowNs = hrtime(true);
    }
    return $ends;
};

$findOne = function (int $untilNs) use ($manager, $namespace, &$key, &$sum): array {
    $starts = $ends = [];
    for ($nowNs = hrtime(true); $nowNs < $untilNs;) {
        $key = ($key + STRIDE) % LOADED;
        $filter = ['_id' => new ObjectId(PREFIX . sprintf('%016x', $key))];
        $starts[] = hrtime(true);
        $query = new Query($filter, ['limit' => 1, 'singleBatch' => true]);
        $found = $manager->executeQuery($namespace, $query)->toArray()[0];
        $ends[] = $nowNs = hrtime(true);
        $sum += $found->number;
    }
    return $ends;
};

$run = ['insert_one' => $insertOne, 'find_one' => $findOne][$operation];
while (($line = fgets(STDIN)) !== false) {
    $beganNs = hrtime(true);
    $ends = $run($beganNs + (int) $line * 1_000_000);
    echo count($ends), ' ', end($ends) - $beganNs, ' ', end($ends), "\n";
}
