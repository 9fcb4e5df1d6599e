<?php

declare(strict_types=1);

namespace Mongodyno;

/** A message that is answered with an `error` of this code. */
final class Refusal extends \Exception
{
    public function __construct(public readonly string $kind, string $message)
    {
        parent::__construct($message);
    }

    public static function unless(
        bool $condition,
        string $message,
        string $kind = 'unsupported',
    ): void {
        if (!$condition) {
            throw new self($kind, $message);
        }
    }
}
