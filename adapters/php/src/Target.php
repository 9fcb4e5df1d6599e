<?php

declare(strict_types=1);

namespace Mongodyno;

use Closure;
use MongoDB\Driver\BulkWrite;
use MongoDB\Driver\Command;
use MongoDB\Driver\Exception\CommandException;
use MongoDB\Driver\Manager;
use MongoDB\Driver\Query;
use MongoDB\Driver\ReadConcern;
use MongoDB\Driver\ReadPreference;
use MongoDB\Driver\Session;
use MongoDB\Driver\WriteConcern;
use MongoDB\Driver\WriteResult;

/**
 * The measured calls of one operation on one client, as users of the extension write them. Each
 * returns how many documents were read, and their sum; or null if there are none to be read.
 */
final class Target
{
    private const NAMESPACE_NOT_FOUND = 26;

    private readonly string $collection;
    private readonly string $namespace;
    private readonly ?string $sumField;
    /** Options of the calls, made once. */
    private array $write;
    private readonly array $read;
    private readonly array $readConcern;
    private array $readPreference;
    private readonly array $bulk;
    private readonly array $update;
    private readonly array $query;
    private readonly array $queryOne;
    private readonly array $concerns;
    /** Of a findAndModify. */
    private readonly array $options;
    private readonly string $field;

    public static function call(?Manager $manager, string $database, array $operation): Closure
    {
        $method = Dialect::KINDS[$operation['kind']][0];
        return (new self($manager, $database, $operation))->$method(...);
    }

    public function __construct(
        private readonly ?Manager $manager,
        private readonly string $database,
        array $operation,
    ) {
        $this->collection = $operation['collection'] ?? '';
        $this->namespace = "$database.$this->collection";
        $this->sumField = $operation['sum_field'] ?? null;
        $concern = $operation['write_concern'] ?? null;
        $level = $operation['read_concern'] ?? null;
        $mode = $operation['read_preference'] ?? null;
        $made = self::concerns($operation);
        $this->write = array_intersect_key($made, ['writeConcern' => true]);
        $this->readConcern = array_intersect_key($made, ['readConcern' => true]);
        $this->readPreference = $mode ? ['readPreference' => new ReadPreference($mode)] : [];
        $this->read = $this->readConcern + $this->readPreference;
        // executeCommand takes concerns as fields of the command.
        $this->concerns = ($concern ? ['writeConcern' => $concern] : [])
            + ($level ? ['readConcern' => ['level' => $level]] : []);
        $batch = isset($operation['batch_size']) ? ['batchSize' => $operation['batch_size']] : [];
        $this->options = array_intersect_key($operation, ['sort' => true, 'collation' => true])
            + (isset($operation['max_time_ms']) ? ['maxTimeMS' => $operation['max_time_ms']] : []);
        $this->field = $operation['field'] ?? '';
        $this->query = $this->readConcern + $batch + $this->options
            + array_intersect_key($operation, ['hint' => true, 'skip' => true]);
        $this->queryOne = ['limit' => 1, 'singleBatch' => true] + $this->query;
        $this->bulk = array_intersect_key($operation, ['ordered' => true]);
        $this->update = self::upsert($operation);
    }

    public static function concerns(array $operation): array
    {
        $concern = $operation['write_concern'] ?? null;
        $level = $operation['read_concern'] ?? null;
        return ($concern ? ['writeConcern' => self::writeConcern($concern)] : [])
            + ($level ? ['readConcern' => new ReadConcern($level)] : []);
    }

    /** The same in a session: a part of a transaction. */
    public function within(Session $session): self
    {
        $part = clone $this;
        $part->write['session'] = $part->readPreference['session'] = $session;
        return $part;
    }

    private static function upsert(array $operation): array
    {
        return array_intersect_key($operation, ['upsert' => true]);
    }

    private static function writeConcern(array $concern): WriteConcern
    {
        $unset = -2; // of libmongoc
        return new WriteConcern($concern['w'] ?? $unset, 0, $concern['j'] ?? null);
    }

    private function noop(array $documents = []): array
    {
        $sum = 0;
        if ($this->sumField !== null) {
            foreach ($documents as $document) {
                $sum += $document[$this->sumField] ?? 0;
            }
        }
        return [count($documents), $sum];
    }

    public function insertOne(array $document): void
    {
        $bulk = new BulkWrite();
        $bulk->insert($document);
        $this->execute($bulk);
    }

    private function insertMany(iterable $documents): void
    {
        $bulk = new BulkWrite($this->bulk);
        foreach ($documents as $document) {
            $bulk->insert($document);
        }
        $this->execute($bulk);
    }

    public function update(array $filter, array $update): void
    {
        $bulk = new BulkWrite();
        $bulk->update($filter, $update, $this->update);
        self::requireAll($this->execute($bulk), $bulk);
    }

    public function deleteOne(array $filter): void
    {
        $bulk = new BulkWrite();
        $bulk->delete($filter, ['limit' => 1]);
        self::requireAll($this->execute($bulk), $bulk);
    }

    private function updateMany(array $filter, array $update): ?array
    {
        $bulk = new BulkWrite();
        $bulk->update($filter, $update, ['multi' => true]);
        $result = $this->execute($bulk);
        return $result->isAcknowledged() ? [$result->getMatchedCount(), 0] : null;
    }

    private function deleteMany(array $filter): ?array
    {
        $bulk = new BulkWrite();
        $bulk->delete($filter);
        $result = $this->execute($bulk);
        return $result->isAcknowledged() ? [$result->getDeletedCount(), 0] : null;
    }

    private function distinct(array $filter): array
    {
        $command = new Command(['distinct' => $this->collection, 'key' => $this->field,
            'query' => (object) $filter]);
        $cursor = $this->manager->executeReadCommand($this->database, $command, $this->read);
        $values = $cursor->toArray()[0]->values;
        return [count($values), $this->sumField === null ? 0 : array_sum($values)];
    }

    private function bulkWrite(array $parts): void
    {
        $bulk = new BulkWrite($this->bulk);
        foreach ($parts as [$operation, $given]) {
            match ($operation['kind']) {
                'insert_one' => $bulk->insert($given[0]),
                'delete_one' => $bulk->delete($given[0], ['limit' => 1]),
                default => $bulk->update($given[0], $given[1], self::upsert($operation)),
            };
        }
        self::requireAll($this->execute($bulk), $bulk);
    }

    /** Throws unless everything is inserted; the result has what else a write did. */
    private function execute(BulkWrite $bulk): WriteResult
    {
        return $this->manager->executeBulkWrite($this->namespace, $bulk, $this->write);
    }

    private static function requireAll(WriteResult $result, BulkWrite $bulk): void
    {
        if ($result->isAcknowledged()) {
            $done = $result->getInsertedCount() + $result->getMatchedCount()
                + $result->getUpsertedCount() + $result->getDeletedCount();
            if ($done !== count($bulk)) {
                throw new WrongAnswer("$done of " . count($bulk) . ' writes did something');
            }
        }
    }

    public function findOne(array $filter, ?array $projection = null): array
    {
        $options = $this->queryOne;
        if ($projection !== null) {
            $options['projection'] = $projection;
        }
        $query = new Query($filter, $options);
        $found = $this->manager->executeQuery($this->namespace, $query, $this->readPreference);
        return $this->one($found->toArray()[0] ?? null);
    }

    private function find(int $limit, array $filter, ?array $projection = null): array
    {
        $options = ['limit' => $limit] + $this->query;
        if ($projection !== null) {
            $options['projection'] = $projection;
        }
        $query = new Query($filter, $options);
        $cursor = $this->manager->executeQuery($this->namespace, $query, $this->readPreference);
        return $this->drain($cursor);
    }

    private function aggregate(array $template): array
    {
        return $this->drain($this->pipeline($template['pipeline']));
    }

    private function count(array $filter): array
    {
        $group = ['$group' => ['_id' => 1, 'n' => ['$sum' => 1]]];
        // An empty filter is a document too.
        $found = $this->pipeline([['$match' => (object) $filter], $group])->toArray();
        return [$found[0]->n ?? 0, 0];
    }

    private function pipeline(array $pipeline): \Traversable
    {
        $command = ['aggregate' => $this->collection, 'pipeline' => $pipeline,
            'cursor' => (object) []];
        $command = new Command($command);
        return $this->manager->executeReadCommand($this->database, $command, $this->read);
    }

    private function estimatedCount(): array
    {
        $command = new Command(['count' => $this->collection]);
        $cursor = $this->manager->executeReadCommand($this->database, $command, $this->read);
        return [$cursor->toArray()[0]->n, 0];
    }

    public function findAndModify(array $filter, array $update): array
    {
        $command = new Command(['findAndModify' => $this->collection, 'query' => (object) $filter,
            'update' => $update] + $this->options);
        $cursor = $this->manager->executeReadWriteCommand($this->database, $command, $this->write);
        return $this->one($cursor->toArray()[0]->value);
    }

    private function readModifyWrite(array $filter, array $update): array
    {
        $found = $this->findOne($filter);
        $this->update($filter, $update);
        return $found;
    }

    private function command(array $command): void
    {
        $command = new Command($command + $this->concerns);
        $this->manager->executeCommand($this->database, $command, $this->readPreference);
    }

    private function drop(): void
    {
        try {
            $command = new Command(['drop' => $this->collection]);
            $this->manager->executeWriteCommand($this->database, $command, $this->write);
        } catch (CommandException $fault) {
            if ($fault->getCode() !== self::NAMESPACE_NOT_FOUND) {
                throw $fault;
            }
        }
    }

    private function one(?\stdClass $document): array
    {
        if ($document === null) {
            throw new WrongAnswer('no document found');
        }
        return [1, $this->sumField === null ? 0 : $document->{$this->sumField} ?? 0];
    }

    private function drain(\Traversable $cursor): array
    {
        $documents = $sum = 0;
        foreach ($cursor as $document) {
            $documents++;
            $sum += $this->sumField === null ? 0 : $document->{$this->sumField} ?? 0;
        }
        return [$documents, $sum];
    }
}
