"""Workers that are threads, for the driver's blocking calls."""

import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Barrier

import dialect
from documents import OPERATION, clock_ns
from phase import BLOCK, HELD_NS, NAP_NS, Phase, Worker


def timed(method, finish, given):
    """Both readings of a call, its answer and its exception."""
    start_ns = clock_ns()
    try:
        answer = method(*given)
        answer = finish(answer) if finish else None
    except Exception as fault:
        return start_ns, clock_ns(), None, fault
    return start_ns, clock_ns(), answer, None


class ThreadWorker(Worker):
    def turn(self, began_ns):
        if self.phase.size:
            self.keep_flying(self.items(began_ns))
        elif self.phase.queued or self.phase.think_ns:
            self.drive(self.items(began_ns))
        else:
            self.back_to_back(began_ns)
        self.samples.flush()

    def back_to_back(self, began_ns):
        """`drive` without waiting, and `note` of a right answer, written out.

        The first gains 1.7 %, the second 0.8 %. The driver pushes all other code out of the CPU's
        caches, so each further function between two of its calls is read from memory again.
        """
        phase, numbers, plans, block, begin = self.phase, self.numbers, self.plans, [], 0
        self.last_ns, self.samples.due_ns = began_ns, began_ns + HELD_NS
        while self.last_ns < phase.deadline_ns and not self.gave_up:
            number = next(numbers, None)
            if number is None:
                return
            if number >= begin + len(block):
                block, begin = self.read(number, BLOCK), number
            item = block[number - begin]
            make, calls = plans[item[OPERATION]]
            method, finish = calls[number % len(calls)]
            given, answer, fault = make(item), None, None
            start_ns = clock_ns()
            try:
                answer = method(*given)
                answer = finish(answer) if finish else None
                end_ns = clock_ns()
            except Exception as raised:
                end_ns, fault = clock_ns(), raised
            if fault is not None:
                self.note(0, item, start_ns, end_ns, answer, fault)
                continue
            self.failures, self.last_ns = 0, end_ns
            if answer:
                self.documents += answer[0]
                self.sum += answer[1]
            sample = start_ns, start_ns, end_ns, number, item[OPERATION], 0, self.producer
            self.samples.add(sample)

    def drive(self, items):
        for due_ns, item in items:
            if due_ns and not self.sleep_until(due_ns):
                return
            # Assigned one by one, here and below: unpacking a tuple into a call costs as much as
            # the call.
            make, method, finish = self.plan(item)
            start_ns, end_ns, answer, fault = timed(method, finish, make(item))
            self.note(due_ns, item, start_ns, end_ns, answer, fault)

    def keep_flying(self, items):
        """Documents and samples are made here: other threads only call and wait."""
        flying = deque()
        for due_ns, item in items:
            make, method, finish = self.plan(item)
            call = self.phase.threads.submit(timed, method, finish, make(item))
            flying.append((due_ns, item, call))
            if len(flying) == self.phase.size:
                self.land(*flying.popleft())
        for each in flying:
            self.land(*each)

    def land(self, due_ns, item, call):
        self.note(due_ns, item, *call.result())

    def sleep_until(self, due_ns):
        """Sleep; False if it is stopped before. Spinning would hold the interpreter's lock."""
        while due_ns < self.phase.deadline_ns:
            left_ns = due_ns - clock_ns()
            if left_ns <= 0:
                return True
            time.sleep(min(left_ns, NAP_NS) / 1e9)
        return False


class ThreadPhase(Phase):
    api, worker, consumer_ns = dialect, ThreadWorker, 3_300
    concurrency = {"kind": "threads", "max": None, "threads": None}

    def __init__(self, *arguments):
        super().__init__(*arguments)
        # One for each worker and for each place in its window, all started here: the pool would
        # start them within the measurement.
        count = len(self.workers) * (1 + self.size)
        self.threads, all_there = ThreadPoolExecutor(count), Barrier(count)
        wait([self.threads.submit(all_there.wait) for _ in range(count)])

    def turn(self):
        began_ns = self.begin()
        turns = [self.threads.submit(worker.turn, began_ns) for worker in self.workers]
        wait(turns)
        for turn in turns:
            turn.result()  # raises what ended a worker
        return self.done(began_ns)

    def end(self):
        self.threads.shutdown()
        return super().end()

    @staticmethod
    def run(conversation):
        conversation()

    @staticmethod
    def wait(answer):
        return answer
