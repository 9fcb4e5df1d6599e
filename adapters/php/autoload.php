<?php

declare(strict_types=1);

// Not Composer's: an installation needs the extension alone.
spl_autoload_register(function (string $class): void {
    if (str_starts_with($class, 'Mongodyno\\')) {
        require __DIR__ . '/src/' . substr($class, strlen('Mongodyno\\')) . '.php';
    }
});
