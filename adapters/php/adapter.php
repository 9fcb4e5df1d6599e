<?php

declare(strict_types=1);

require __DIR__ . '/autoload.php';

(new Mongodyno\Adapter())->run();
