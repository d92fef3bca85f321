# Pictures, beside the libraries by hand. Included by CMakeLists.txt; nothing is measured without the image adapter.
if(NOT TARGET dlpark_image)
  message(STATUS "benchmarks without pictures: DLPARK_IMAGE is OFF")
  return()
endif()
find_package(PkgConfig REQUIRED)
pkg_check_modules(BENCH_IMAGE REQUIRED IMPORTED_TARGET libjpeg libpng libwebp)
dlpark_bench(pixels dlpark::image)
dlpark_bench(image dlpark::image PkgConfig::BENCH_IMAGE)
target_sources(bench_image PRIVATE
  image_job.c image_decode.c image_encode.c image_peak.c
  image_floor.c image_floor_jpeg.c image_floor_png.c image_floor_webp.c)
target_compile_definitions(bench_image PRIVATE BENCH_PHOTO="${PROJECT_SOURCE_DIR}/demos/image-python/photo.jpg")
