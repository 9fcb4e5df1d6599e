<?php

declare(strict_types=1);

namespace Mongodyno\Tests;

use MongoDB\BSON\Binary;
use MongoDB\Driver\Exception\CommandException;
use MongoDB\Driver\Exception\ConnectionTimeoutException;
use MongoDB\Driver\Exception\ExecutionTimeoutException;
use MongoDB\Driver\Manager;
use Mongodyno\Dialect;
use PHPUnit\Framework\TestCase;

/** Tests of the driver's peculiarities; `mongodyno check` replays the vectors. */
final class DialectTest extends TestCase
{
    public function testDocumentsAreArraysButForThoseThatWouldBeLists(): void
    {
        $fields = ['a' => ['b' => 1], 'c' => (object) [], 'd' => (object) ['0' => 'x'], 'e' => [],
            'f' => [['g' => 2]], '1' => 2.0, 'h' => (object) [], 'i' => 1 << 40];
        $data = Dialect::encode($fields);
        [$document, $other] = Dialect::decode($data . $data);
        $this->assertEquals($fields, $document);
        $this->assertEquals($document, $other);
        $this->assertSame(bin2hex($data), bin2hex(Dialect::encode($document)));
    }

    public function testCopiesShareNoBinaryValueAndNoObject(): void
    {
        $document = ['a' => new Binary('12', 0), 'b' => [['c' => new Binary('34', 5)]],
            'd' => (object) ['0' => new Binary('56', 0)]];
        $copy = Dialect::copier($document)();
        $this->assertEquals($document, $copy);
        $this->assertNotSame($document['a'], $copy['a']);
        $this->assertNotSame($document['b'][0]['c'], $copy['b'][0]['c']);
        $this->assertNotSame($document['d'], $copy['d']);
        $this->assertNotSame($document['d']->{'0'}, $copy['d']->{'0'});
    }

    public function testFailuresHaveTheCodeOfTheServer(): void
    {
        $faults = [
            [new CommandException('no', 59), 2, 59, 'CommandException'],
            [new ExecutionTimeoutException('late', 50), 3, 50, 'ExecutionTimeoutException'],
            [new ConnectionTimeoutException('late', 4), 3, 0, 'ConnectionTimeoutException'],
        ];
        foreach ($faults as [$fault, $outcome, $code, $name]) {
            $expected = ['outcome' => $outcome, 'code' => $code, 'name' => $name];
            $this->assertSame($expected, Dialect::failure($fault));
        }
    }

    public function testAcknowledgedAndResolved(): void
    {
        $cases = [
            ['', true, []],
            ['w=0', false, ['w' => 0]],
            ['w=majority&journal=true', true, ['w' => 'majority', 'j' => true]],
        ];
        foreach ($cases as [$options, $acknowledged, $concern]) {
            $opened = Dialect::opened(new Manager("mongodb://h/?$options"));
            $this->assertSame($acknowledged, $opened['acknowledged']);
            $this->assertEquals((object) $concern, $opened['resolved']['write_concern']);
        }
        $uri = 'mongodb://h/?readConcernLevel=local&readPreference=nearest';
        $resolved = Dialect::opened(new Manager($uri))['resolved'];
        $this->assertSame(
            ['local', 'nearest'],
            [$resolved['read_concern'], $resolved['read_preference']]
        );
    }
}
