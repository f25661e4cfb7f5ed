# Answers "hello", with the bare protocol: an SDK comes back by itself when its node is gone, and this does not.
#     pip install websockets
#     CHATROOM_TOKEN=$(chatroomctl token echo) python3 tools/examples/bots/echo.py ws://127.0.0.1:7400/v1/ws lobby
import asyncio, json, os, sys
from websockets.asyncio.client import connect

async def main(gateway, room):
    async with connect(gateway, subprotocols=["chatroom.v1.json"]) as socket:
        await socket.send(json.dumps({"id": 1, "connect": {"token": os.environ["CHATROOM_TOKEN"]}}))
        await socket.send(json.dumps({"id": 2, "enter": {"room": room}}))
        async for frame in socket:
            for message in (json.loads(line).get("message", {}) for line in frame.split("\n")):
                if message.get("text") == "hello":
                    text = "hello, " + message.get("from", {}).get("user", "you")
                    send = {"room": room, "clientId": os.urandom(8).hex(), "type": "TEXT", "text": text}
                    await socket.send(json.dumps({"id": 3, "send": send}))

asyncio.run(main(*sys.argv[1:]))
