<?php

declare(strict_types=1);

namespace Mongodyno;

/** The server answered, but not right by the contract. */
final class WrongAnswer extends \Exception
{
}
