import asyncio

from services.tasks import asked_to_end, end


def test_a_task_that_swallows_its_cancellations_ends_all_the_same():
    swallowed = []

    async def stubborn():
        while len(swallowed) < 3:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                swallowed.append(asked_to_end())
        raise ValueError("dropped")

    async def run():
        task = asyncio.create_task(stubborn())
        await asyncio.sleep(0)
        assert not asked_to_end()
        await end([task, asyncio.create_task(asyncio.sleep(60))])
        assert task.done()
        assert swallowed == [True] * 3

    asyncio.run(asyncio.wait_for(run(), 10))


def test_there_may_be_nothing_to_end():
    asyncio.run(end([]))
