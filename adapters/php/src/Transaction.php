<?php

declare(strict_types=1);

namespace Mongodyno;

use Closure;
use MongoDB\Driver\Exception\RuntimeException;
use MongoDB\Driver\Manager;
use MongoDB\Driver\Session;

/**
 * Transactions. The extension starts and ends them; the loop around that is the library's function
 * `with_transaction`, as its users have it.
 */
final class Transaction
{
    private const SECONDS_MAX = 120;
    private const MAX_TIME_EXPIRED = 50;
    private const TRANSIENT = 'TransientTransactionError';
    private const COMMIT_UNKNOWN = 'UnknownTransactionCommitResult';

    /** Of each operation that may be a part, by its number. */
    private array $parts = [];
    private readonly array $options;

    /** A call; `$retry` is called before each attempt after the first. */
    public static function call(
        Manager $manager,
        string $database,
        array $operation,
        array $operations,
        Closure $retry,
    ): Closure {
        return (new self($manager, $database, $operation, $operations, $retry))->run(...);
    }

    private function __construct(
        private readonly Manager $manager,
        string $database,
        array $operation,
        array $operations,
        private readonly Closure $retry,
    ) {
        $this->options = Target::concerns($operation);
        foreach ($operations as $number => $part) {
            if (in_array($part['kind'], Dialect::TRANSACTION_PARTS, true)) {
                $this->parts[$number] = new Target($manager, $database, $part);
            }
        }
    }

    private function run(array $parts): array
    {
        $session = $this->manager->startSession();
        $attempts = 0;
        $answer = [0, 0];
        $this->withTransaction($session, function () use ($session, $parts, &$attempts, &$answer) {
            if ($attempts++ > 0) {
                ($this->retry)();
            }
            $answer = $this->attempt($session, $parts);
        });
        return $answer;
    }

    private function attempt(Session $session, array $parts): array
    {
        $documents = $sum = 0;
        foreach ($parts as [$operation, $given, $number]) {
            $method = Dialect::KINDS[$operation['kind']][0];
            $answer = $this->parts[$number]->within($session)->$method(...$given) ?? [0, 0];
            $documents += $answer[0];
            $sum += $answer[1];
        }
        return [$documents, $sum];
    }

    private function withTransaction(Session $session, Closure $callback): void
    {
        $start = time();
        while (true) {
            $session->startTransaction($this->options);
            try {
                $callback();
            } catch (\Throwable $fault) {
                if ($session->isInTransaction()) {
                    $session->abortTransaction();
                }
                if (self::mayTryAgain($fault, self::TRANSIENT, $start)) {
                    continue;
                }
                throw $fault;
            }
            while (true) {
                try {
                    $session->commitTransaction();
                    return;
                } catch (RuntimeException $fault) {
                    if (
                        $fault->getCode() !== self::MAX_TIME_EXPIRED
                        && self::mayTryAgain($fault, self::COMMIT_UNKNOWN, $start)
                    ) {
                        continue;
                    }
                    if (self::mayTryAgain($fault, self::TRANSIENT, $start)) {
                        continue 2;
                    }
                    throw $fault;
                }
            }
        }
    }

    private static function mayTryAgain(\Throwable $fault, string $label, int $start): bool
    {
        return $fault instanceof RuntimeException && $fault->hasErrorLabel($label)
            && time() - $start < self::SECONDS_MAX;
    }
}
