"""A double that speaks Qdrant's gRPC protocol: what an index asks goes over a real connection, is
decoded as a server decodes it, and is answered by qdrant-client's local mode.

It checks the API key, can serve TLS, says which version it is, and fails calls when told to. It is
no Qdrant: see ``qdrant_backend.GAPS`` for what the local mode cannot show.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from qdrant_client import QdrantClient
from qdrant_client import grpc as wire
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc

KEY = "a-key-for-tests"


class QdrantDouble:
    """A server on a free port of 127.0.0.1. ``calls`` lists what was asked; ``failing`` maps a
    method to the statuses its next calls fail with, None to do the work and then lose the
    answer. Close it."""

    def __init__(
        self,
        *,
        version: str = "1.20.0",
        key: str = "",
        certificate: tuple[bytes, bytes] | None = None,
    ) -> None:
        self.version = version
        self.key = key
        self.store = QdrantClient(":memory:", force_disable_check_same_thread=True)
        self.calls: list[str] = []
        self.failing: dict[str, list[grpc.StatusCode | None]] = {}
        # One at a time: the local mode is not made for threads.
        self._server = grpc.server(ThreadPoolExecutor(1))
        for service, methods in _SERVICES.items():
            handlers = {name: self._handler(name, *rest) for name, *rest in methods}
            handler = grpc.method_handlers_generic_handler(f"qdrant.{service}", handlers)
            self._server.add_generic_rpc_handlers((handler,))
        if certificate is None:
            self.port = self._server.add_insecure_port("127.0.0.1:0")
        else:
            self.port = self._server.add_secure_port(
                "127.0.0.1:0", grpc.ssl_server_credentials([certificate])
            )
        self._server.start()

    def close(self) -> None:
        """Stops the server."""
        self._server.stop(None).wait()
        self.store.close()

    def _handler(self, name: str, request: Any, answer: Callable[..., Any]) -> Any:
        def handle(message: Any, context: grpc.ServicerContext) -> Any:
            self.calls.append(name)
            if self.key and ("api-key", self.key) not in context.invocation_metadata():
                context.abort(grpc.StatusCode.UNAUTHENTICATED, "Invalid API key or JWT")
            failures = self.failing.get(name, [])
            failure = failures.pop(0) if failures else grpc.StatusCode.OK
            if failure is not None and failure is not grpc.StatusCode.OK:
                context.abort(failure, f"told to fail {name}")
            try:
                answered = answer(self, message)
            except ValueError as error:
                missing = "not found" in str(error)
                code = grpc.StatusCode.NOT_FOUND if missing else grpc.StatusCode.INVALID_ARGUMENT
                context.abort(code, str(error))
            if failure is None:
                context.abort(grpc.StatusCode.UNAVAILABLE, f"told to lose the answer of {name}")
            return answered

        return grpc.unary_unary_rpc_method_handler(
            handle,
            request_deserializer=request.FromString,
            response_serializer=_serialized,
        )


def _serialized(response: Any) -> bytes:
    encoded: bytes = response.SerializeToString()
    return encoded


def _done(_: Any = None) -> Any:
    result = wire.UpdateResult(operation_id=1, status=wire.UpdateStatus.Completed)
    return wire.PointsOperationResponse(result=result)


def _create(double: QdrantDouble, asked: Any) -> Any:
    double.store.create_collection(
        asked.collection_name,
        vectors_config=GrpcToRest.convert_vectors_config(asked.vectors_config)
        if asked.HasField("vectors_config")
        else {},
        sparse_vectors_config=GrpcToRest.convert_sparse_vector_config(asked.sparse_vectors_config),
    )
    return wire.CollectionOperationResponse(result=True)


def _delete_collection(double: QdrantDouble, asked: Any) -> Any:
    return wire.CollectionOperationResponse(
        result=double.store.delete_collection(asked.collection_name)
    )


def _list(double: QdrantDouble, _: Any) -> Any:
    found = double.store.get_collections().collections
    return wire.ListCollectionsResponse(
        collections=[wire.CollectionDescription(name=each.name) for each in found]
    )


def _exists(double: QdrantDouble, asked: Any) -> Any:
    exists = double.store.collection_exists(asked.collection_name)
    return wire.CollectionExistsResponse(result=wire.CollectionExists(exists=exists))


def _aliases(double: QdrantDouble, _: Any) -> Any:
    found = double.store.get_aliases().aliases
    return wire.ListAliasesResponse(
        aliases=[RestToGrpc.convert_alias_description(each) for each in found]
    )


def _change_aliases(double: QdrantDouble, asked: Any) -> Any:
    operations = [GrpcToRest.convert_alias_operations(each) for each in asked.actions]
    return wire.CollectionOperationResponse(
        result=double.store.update_collection_aliases(operations)
    )


def _upsert(double: QdrantDouble, asked: Any) -> Any:
    assert asked.wait
    points = [GrpcToRest.convert_point_struct(each) for each in asked.points]
    return _done(double.store.upsert(asked.collection_name, points))


def _delete_points(double: QdrantDouble, asked: Any) -> Any:
    assert asked.wait
    selector = GrpcToRest.convert_points_selector(asked.points)
    return _done(double.store.delete(asked.collection_name, selector))


def _set_payload(double: QdrantDouble, asked: Any) -> Any:
    assert asked.wait
    payload = GrpcToRest.convert_payload(asked.payload)
    selector = GrpcToRest.convert_points_selector(asked.points_selector)
    return _done(double.store.set_payload(asked.collection_name, payload, selector))


def _update_batch(double: QdrantDouble, asked: Any) -> Any:
    assert asked.wait
    operations = [GrpcToRest.convert_points_update_operation(each) for each in asked.operations]
    double.store.batch_update_points(asked.collection_name, operations)
    return wire.UpdateBatchResponse(result=[_done().result for _ in operations])


def _get(double: QdrantDouble, asked: Any) -> Any:
    records = double.store.retrieve(
        asked.collection_name,
        [GrpcToRest.convert_point_id(each) for each in asked.ids],
        with_payload=GrpcToRest.convert_with_payload_interface(asked.with_payload),
        with_vectors=GrpcToRest.convert_with_vectors_selector(asked.with_vectors),
    )
    for each in records:
        each.payload = each.payload or {}  # asked for none, a server sends an empty one
    return wire.GetResponse(result=[RestToGrpc.convert_record(each) for each in records])


def _scroll(double: QdrantDouble, asked: Any) -> Any:
    offset: Any
    records, offset = double.store.scroll(
        asked.collection_name,
        scroll_filter=GrpcToRest.convert_filter(asked.filter) if asked.HasField("filter") else None,
        limit=asked.limit,
        offset=GrpcToRest.convert_point_id(asked.offset) if asked.HasField("offset") else None,
        with_payload=GrpcToRest.convert_with_payload_interface(asked.with_payload),
    )
    found = [RestToGrpc.convert_record(each) for each in records]
    if offset is None:
        return wire.ScrollResponse(result=found)
    following = RestToGrpc.convert_extended_point_id(offset)
    return wire.ScrollResponse(result=found, next_page_offset=following)


def _count(double: QdrantDouble, asked: Any) -> Any:
    condition = GrpcToRest.convert_filter(asked.filter) if asked.HasField("filter") else None
    found = double.store.count(asked.collection_name, count_filter=condition)
    return wire.CountResponse(result=wire.CountResult(count=found.count))


def _query_batch(double: QdrantDouble, asked: Any) -> Any:
    wanted = [GrpcToRest.convert_query_points(each) for each in asked.query_points]
    found = double.store.query_batch_points(asked.collection_name, wanted)
    return wire.QueryBatchResponse(
        result=[
            wire.BatchResult(result=[RestToGrpc.convert_scored_point(one) for one in each.points])
            for each in found
        ]
    )


def _health(double: QdrantDouble, _: Any) -> Any:
    return wire.HealthCheckReply(title="qdrant - vector search engine", version=double.version)


_SERVICES: dict[str, list[tuple[str, Any, Callable[..., Any]]]] = {
    "Qdrant": [("HealthCheck", wire.HealthCheckRequest, _health)],
    "Collections": [
        ("Create", wire.CreateCollection, _create),
        ("Delete", wire.DeleteCollection, _delete_collection),
        ("List", wire.ListCollectionsRequest, _list),
        ("CollectionExists", wire.CollectionExistsRequest, _exists),
        ("ListAliases", wire.ListAliasesRequest, _aliases),
        ("UpdateAliases", wire.ChangeAliases, _change_aliases),
    ],
    "Points": [
        ("Upsert", wire.UpsertPoints, _upsert),
        ("Delete", wire.DeletePoints, _delete_points),
        ("SetPayload", wire.SetPayloadPoints, _set_payload),
        ("UpdateBatch", wire.UpdateBatchPoints, _update_batch),
        ("Get", wire.GetPoints, _get),
        ("Scroll", wire.ScrollPoints, _scroll),
        ("Count", wire.CountPoints, _count),
        ("QueryBatch", wire.QueryBatchPoints, _query_batch),
        ("CreateFieldIndex", wire.CreateFieldIndexCollection, lambda double, asked: _done()),
    ],
}
