"""mongodyno's adapter of PyMongo. `adapter.py asyncio` has tasks as workers, else threads."""

import sys

if sys.argv[1:] == ["asyncio"]:
    from tasks import TaskAdapter as Adapter
else:
    from threads import ThreadAdapter as Adapter

Adapter().run()
