<?php

declare(strict_types=1);

namespace Mongodyno;

use Closure;
use MongoDB\BSON\Binary;
use MongoDB\BSON\ObjectId;
use MongoDB\BSON\UTCDateTime;
use MongoDB\Driver\Command;
use MongoDB\Driver\Exception;
use MongoDB\Driver\Manager;

/**
 * The dialect of ext-mongodb, as its users write it: types, clients and errors. Target has the
 * calls.
 */
final class Dialect
{
    /** For each kind, the method of Target and the values that it takes, in their order. */
    public const KINDS = [
        'noop' => ['noop', []],
        'insert_one' => ['insertOne', ['documents']],
        'insert_many' => ['insertMany', ['documents']],
        'find_one' => ['findOne', ['filter', 'projection']],
        'find' => ['find', ['filter', 'projection']],
        'update_one' => ['update', ['filter', 'update']],
        'delete_one' => ['deleteOne', ['filter']],
        'count' => ['count', ['filter']],
        'update_many' => ['updateMany', ['filter', 'update']],
        'delete_many' => ['deleteMany', ['filter']],
        'distinct' => ['distinct', ['filter']],
        'estimated_count' => ['estimatedCount', []],
        'replace_one' => ['update', ['filter', 'documents']],
        'find_one_and_update' => ['findAndModify', ['filter', 'update']],
        'read_modify_write' => ['readModifyWrite', ['filter', 'update']],
        'bulk_write' => ['bulkWrite', []],
        'transaction' => ['transaction', []],
        'aggregate' => ['aggregate', ['pipeline']],
        'command' => ['command', ['command']],
        'drop' => ['drop', []],
    ];
    public const TRANSACTION_PARTS = ['insert_one', 'find_one', 'update_one', 'replace_one',
        'delete_one', 'find_one_and_update'];
    public const EXTRAS = ['write_concern', 'read_concern', 'read_preference', 'command_concerns',
        'unacknowledged', 'unordered', 'clients', 'lazy_insert', 'sort', 'hint',
        'collation', 'max_time'];
    /** Options that are documents. */
    public const OPTIONS = ['sort', 'hint', 'collation'];
    /** AuthenticationFailed, MechanismUnavailable, Atlas' own. */
    private const AUTH_CODES = [18, 334, 8000];
    private const TIMEOUT_CODES = [50, 262];
    /** A Manager has one connection per server, and ignores the options of a pool. */
    private const POOL = '/[?&;](maxPoolSize|minPoolSize|maxIdleTimeMS|maxConnecting|'
        . 'waitQueueMultiple|waitQueueTimeoutMS)=/i';

    /** Documents that follow one another. */
    public static function decode(string $data): array
    {
        $documents = [];
        for ($at = 0; $at < strlen($data); $at += $length) {
            $length = unpack('V', $data, $at)[1];
            $types = ['root' => 'object', 'document' => 'object', 'array' => 'array'];
            $root = \MongoDB\BSON\toPHP(substr($data, $at, $length), $types);
            $documents[] = (array) self::written($root);
        }
        return $documents;
    }

    public static function encode(array $document): string
    {
        return \MongoDB\BSON\fromPHP($document);
    }

    /** Documents are arrays, except those that the driver would read as lists. */
    private static function written(mixed $value): mixed
    {
        if (!is_array($value) && !$value instanceof \stdClass) {
            return $value;
        }
        $fields = array_map(self::written(...), (array) $value);
        return is_object($value) && array_is_list($fields) ? (object) $fields : $fields;
    }

    /**
     * A function that makes the document anew, or returns it: PHP copies arrays when they are
     * written.
     */
    public static function copier(array $document): Closure|array
    {
        return self::made($document) ?? $document;
    }

    private static function made(mixed $value): ?Closure
    {
        if ($value instanceof Binary) {
            [$data, $type] = [$value->getData(), $value->getType()];
            return fn () => new Binary($data, $type);
        }
        $isObject = $value instanceof \stdClass;
        $inner = is_array($value) || $isObject ? (array) $value : [];
        $made = array_filter(array_map(self::made(...), $inner));
        if ($made === [] && !$isObject) {
            return null;
        }
        return function () use ($inner, $made, $isObject): array|object {
            foreach ($made as $name => $make) {
                $inner[$name] = $make();
            }
            return $isObject ? (object) $inner : $inner;
        };
    }

    public static function date(int $ms): UTCDateTime
    {
        return new UTCDateTime($ms);
    }

    public static function objectId(string $digits): ObjectId
    {
        return new ObjectId($digits);
    }

    public static function guid(string $bytes): Binary
    {
        return new Binary($bytes, Binary::TYPE_UUID);
    }

    public static function driver(): array
    {
        return ['name' => 'ext-mongodb', 'version' => phpversion('mongodb'), 'native' => true];
    }

    /** A client after a ping has proved it. */
    public static function connect(string $uri): Manager
    {
        if (preg_match(self::POOL, $uri, $found)) {
            throw new Refusal('unsupported', "a Manager has no pool, which $found[1] is about");
        }
        $manager = self::manager($uri);
        try {
            $manager->executeCommand('admin', new Command(['ping' => 1]));
        } catch (Exception\Exception $fault) {
            $isAuth = $fault instanceof Exception\AuthenticationException;
            $isAuth = $isAuth || in_array($fault->getCode(), self::AUTH_CODES, true);
            throw new Refusal($isAuth ? 'auth' : 'connect', $fault->getMessage());
        }
        return $manager;
    }

    /** Refuses what the driver warns of, which it does only in its log. */
    private static function manager(string $uri): Manager
    {
        $folder = sys_get_temp_dir() . '/mdyn_' . bin2hex(random_bytes(8));
        mkdir($folder, 0700); // the log names the connection string
        ini_set('mongodb.debug', $folder);
        try {
            // Otherwise equal connection strings would share one client.
            $manager = new Manager($uri, [], ['disableClientPersistence' => true]);
        } catch (Exception\Exception $fault) {
            throw new Refusal('unsupported', $fault->getMessage());
        } finally {
            ini_restore('mongodb.debug');
            $files = glob("$folder/*");
            $log = implode(array_map(file_get_contents(...), $files));
            array_map(unlink(...), $files);
            rmdir($folder);
        }
        if (preg_match_all('/WARNING > (.+)/', $log, $warnings)) {
            throw new Refusal('unsupported', implode('; ', $warnings[1]));
        }
        return $manager;
    }

    public static function opened(Manager $manager): array
    {
        // The driver does not report compressors, retries and TLS.
        $concern = $manager->getWriteConcern();
        return ['acknowledged' => $concern->getW() !== 0, 'resolved' => [
            'write_concern' => $concern->isDefault() ? (object) [] : $concern->bsonSerialize(),
            'read_concern' => $manager->getReadConcern()->getLevel(),
            'read_preference' => $manager->getReadPreference()->getModeString(),
            'commands' => ['count' => 'aggregate'],
        ]];
    }

    /** The sample's outcome, the server's code or 0, its name or the driver's class. */
    public static function failure(\Throwable $fault): array
    {
        $name = (new \ReflectionClass($fault))->getShortName();
        if ($fault instanceof WrongAnswer) {
            return ['outcome' => 1, 'code' => 0, 'name' => $name];
        }
        if ($fault instanceof Exception\BulkWriteException && $fault->getPrevious()) {
            return self::failure($fault->getPrevious()); // a bulk that did not reach the server
        }
        $code = $fault instanceof Exception\ServerException ? $fault->getCode() : 0;
        if ($fault instanceof Exception\BulkWriteException) {
            $result = $fault->getWriteResult();
            $first = $result->getWriteErrors()[0] ?? $result->getWriteConcernError();
            $code = $first?->getCode() ?? $code;
        } elseif ($fault instanceof Exception\CommandException) {
            $name = $fault->getResultDocument()->codeName ?? $name;
        }
        $isTimeout = $fault instanceof Exception\ConnectionTimeoutException
            || in_array($code, self::TIMEOUT_CODES, true);
        return ['outcome' => $isTimeout ? 3 : 2, 'code' => $code, 'name' => $name];
    }
}
