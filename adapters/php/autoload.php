<?php

declare(strict_types=1);

// Composer's is not used, because an installation needs only the extension.
spl_autoload_register(function (string $class): void {
    if (str_starts_with($class, 'Mongodyno\\')) {
        require __DIR__ . '/src/' . substr($class, strlen('Mongodyno\\')) . '.php';
    }
});
