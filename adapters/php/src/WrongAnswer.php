<?php

declare(strict_types=1);

namespace Mongodyno;

/** The server answered, but not what the contract calls right. */
final class WrongAnswer extends \Exception
{
}
